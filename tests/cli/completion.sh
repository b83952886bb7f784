#!/usr/bin/env bash
# Asks a shell what it would complete, with the script that the program prints.
#   completion.sh SHELL WEIR
# Fails where there is no such shell: ./dev installs them.
# The functions in_SHELL are called by a name that is put together.
# shellcheck disable=SC2317
set -euo pipefail
[[ $# -eq 2 ]] || { sed -n '2,4p' "$0"; exit 2; }
shell=$1 weir=$2
command -v "$shell" >/dev/null || { echo "needs $shell"; exit 1; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
touch limits.yaml
failed=0

in_bash() {
  # shellcheck disable=SC2016
  env -i PATH="$PATH" bash --norc -c '
    source /dev/stdin <<<"$1"
    shift
    compopt() { :; } # works only while bash completes
    COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
    _weir
    printf "%s\n" "${COMPREPLY[@]}"' bash "$("$weir" completion bash)" "$@"
}

in_fish() {
  "$weir" completion fish >"$work/weir.fish"
  env -i PATH="$PATH" HOME="$work" TERM=dumb fish --no-config \
    -c "source $work/weir.fish; complete -C '$*'" | cut -f 1
}

# A terminal of its own for zsh, since completion runs only in an interactive one. Words are printed as they are
# offered, and a mark when all were.
in_zsh() {
  mkdir -p "$work/functions"
  "$weir" completion zsh >"$work/functions/_weir"
  cat >"$work/functions/setup" <<'ZSH'
autoload -Uz compinit && compinit -u -D
PS1=
compadd() {
  local -a words given=("$@") kept=()
  while (($#)); do
    if [[ $1 == -[OAD] ]]; then shift 2; else kept+=("$1"); shift; fi
  done
  builtin compadd -A words "${kept[@]}"
  print -rl -- "" $words
  builtin compadd "${given[@]}"
}
mark() { print -r -- "THE""-END" }
comppostfuncs=(mark)
print -r -- "THE""-BEGINNING"
ZSH
  # shellcheck disable=SC2016
  env -i PATH="$PATH" HOME="$work" TERM=dumb zsh -f -c '
    zmodload zsh/zpty
    zpty z zsh -f -i
    zpty -w z "fpath=($1/functions \$fpath); source $1/functions/setup"
    zpty -r z output "*THE-BEGINNING*"
    zpty -w -n z "$2"$'"'\t'"'
    zpty -r z output "*THE-END*"
    print -r -- "$output"' zsh "$work" "$*" | tr -d '\r'
}

# completes "WANTED..." "UNWANTED..." WORD...: the last word is what is being typed.
completes() {
  local wanted=$1 unwanted=$2 offered word
  shift 2
  offered=$("in_$shell" "$@")
  for word in $wanted; do
    grep -qxF -e "$word" <<<"$offered" || { echo "$shell: '$*' does not offer $word, but: $offered"; failed=1; }
  done
  for word in $unwanted; do
    ! grep -qxF -e "$word" <<<"$offered" || { echo "$shell: '$*' offers $word"; failed=1; }
  done
}

completes "acquire available lease limits entity audit store completion help" "set create" weir ""
completes "set get delete effective list plan apply diff" "acquire create" weir limits ""
completes "adjust settle rollback" "set" weir lease ""
completes "--consume --limit --lease --store --help" "--parent --owner" weir acquire --
completes "--parent --cascade --name --meta" "--lease" weir entity create --
completes "operator sync" "table" weir limits list --owner ""
completes "table json" "operator" weir limits list -o ""
completes "entity entity_default resource system" "table" weir limits list --level ""
completes "bash zsh fish" "limits" weir completion ""
completes "limits.yaml" "" weir limits plan ""
completes "set get" "acquire" weir --store sqlite:x.db limits ""
exit "$failed"
