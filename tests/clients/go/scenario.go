// The scenario of the generated Go client: scenario URL TOKEN EXAMPLES. ../scenario.py has the same.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"reflect"

	"weir"
)

const (
	hundredDays = int64(8640000000) // in milliseconds: more than 32 bits hold
	slack       = 0.01              // more than refills while the scenario runs
)

func fail(format string, values ...interface{}) {
	fmt.Fprintf(os.Stderr, format+"\n", values...)
	os.Exit(1)
}

func equal(what string, actual, expected interface{}) {
	if !reflect.DeepEqual(actual, expected) {
		fail("%s is %#v, not %#v", what, actual, expected)
	}
}

func near(what string, actual, expected float64) {
	if actual < expected || actual > expected+slack {
		fail("%s is %v, not %v", what, actual, expected)
	}
}

func done(what string, err error) {
	var problem *weir.GenericOpenAPIError
	if errors.As(err, &problem) {
		fail("%s: %v: %s", what, err, problem.Body())
	}
	if err != nil {
		fail("%s: %v", what, err)
	}
}

// refused returns the problem that a call was answered with, as the client has read it.
func refused(what string, status int, response *http.Response, err error) interface{} {
	var problem *weir.GenericOpenAPIError
	if !errors.As(err, &problem) {
		fail("%s was not refused: %v", what, err)
	}
	equal("status of "+what, response.StatusCode, status)
	return problem.Model()
}

// of returns the limit of this name.
func of(limits []weir.LimitStatus, name string) weir.LimitStatus {
	for _, limit := range limits {
		if limit.Name == name {
			return limit
		}
	}
	fail("there is no limit %s", name)
	return weir.LimitStatus{}
}

func text(limit string) weir.GivenLimit { return weir.StringAsGivenLimit(&limit) }

func setLimits(ctx context.Context, client *weir.APIClient) {
	tpm := weir.NewLimitNumbers(1000)
	tpm.SetRefillPeriodMs(hundredDays)
	body := weir.NewSetLimits(map[string]weir.GivenLimit{"rpm": text("3/d"), "tpm": weir.LimitNumbersAsGivenLimit(tpm)})
	stored, _, err := client.LimitsAPI.SetSystemLimits(ctx).SetLimits(*body).Execute()
	done("setting limits", err)
	equal("owner", stored.Owner, weir.OPERATOR)
	equal("capacity of rpm", stored.Limits["rpm"].Capacity, 3.0)
	equal("period of rpm", stored.Limits["rpm"].RefillPeriodMs, int64(86400000))
	equal("burst of tpm", stored.Limits["tpm"].Burst, 1000.0)
	equal("period of tpm", stored.Limits["tpm"].RefillPeriodMs, hundredDays)
}

func putEntities(ctx context.Context, client *weir.APIClient) {
	parent := weir.NewPutEntity()
	parent.SetName("Search")
	_, _, err := client.EntitiesAPI.PutEntity(ctx, "org/search").PutEntity(*parent).Execute()
	done("putting the parent", err)
	key := weir.NewPutEntity()
	key.SetParent("org/search")
	key.SetMetadata(map[string]string{"team": "search"})
	put, _, err := client.EntitiesAPI.PutEntity(ctx, "key-1").PutEntity(*key).Execute()
	done("putting the key", err)
	equal("parent", put.GetParent(), "org/search")
	equal("cascade", put.Cascade, false)
	equal("metadata", put.Metadata, map[string]string{"team": "search"})
	equal("created_at_ms is a moment", put.CreatedAtMs > 1700000000000, true)
	stored, _, err := client.EntitiesAPI.GetEntity(ctx, "org/search").Execute()
	done("getting the parent", err)
	equal("a name that needs an escape", stored.GetName(), "Search")
	children, _, err := client.EntitiesAPI.ListChildren(ctx, "org/search").Execute()
	done("listing children", err)
	equal("children", children.Children, []string{"key-1"})
	_, response, err := client.EntitiesAPI.GetEntity(ctx, "nobody").Execute()
	missing := refused("a missing entity", 404, response, err).(weir.NotFound)
	equal("type of a missing entity", missing.Type, "not-found")
}

func listEntities(ctx context.Context, client *weir.APIClient) {
	var names []string
	request := client.EntitiesAPI.ListEntities(ctx).Limit(1)
	for {
		page, _, err := request.Execute()
		done("listing entities", err)
		for _, entity := range page.Items {
			names = append(names, entity.Entity)
		}
		if !page.HasNext() {
			break
		}
		request = request.Cursor(page.GetNext())
	}
	equal("names in pages", names, []string{"key-1", "org/search"})
}

func charge(ctx context.Context, client *weir.APIClient, consume map[string]float64) weir.ApiAcquireRequest {
	return client.DecisionsAPI.Acquire(ctx).Acquire(*weir.NewAcquire("key-1", "gpt-4", consume))
}

func acquire(ctx context.Context, client *weir.APIClient) {
	admitted, _, err := charge(ctx, client, map[string]float64{"rpm": 1, "tpm": 400.5}).IdempotencyKey("call-1").Execute()
	done("acquiring", err)
	equal("allowed", admitted.Allowed && !admitted.HasDegraded(), true)
	equal("names of limits", []string{admitted.Limits[0].Name, admitted.Limits[1].Name}, []string{"rpm", "tpm"})
	equal("source", admitted.Limits[0].Source, weir.FROM_SYSTEM)
	equal("requested of tpm", admitted.Limits[1].Requested, 400.5)
	near("remaining of rpm", admitted.Limits[0].Remaining, 2)
	near("remaining of tpm", admitted.Limits[1].Remaining, 599.5)

	_, response, err := charge(ctx, client, map[string]float64{"rpm": 3}).Execute()
	problem := refused("too many requests", 429, response, err).(weir.Refused)
	equal("type", problem.Type, "https://iana.org/assignments/http-problem-types#quota-exceeded")
	equal("status in the body", problem.Status, int32(429))
	equal("allowed and never_fits", []bool{problem.Allowed, problem.NeverFits}, []bool{false, false})
	equal("violated policies", problem.ViolatedPolicies, []string{"rpm"})
	equal("exceeded", of(problem.Limits, "rpm").Exceeded, true)
	wait := problem.RetryAfterMs.Get()
	equal("wait of at most a third of a day", wait != nil && 0 < *wait && *wait <= 28800000, true)
	_, response, err = charge(ctx, client, map[string]float64{"tpm": 1001}).Execute()
	never := refused("more than fits", 429, response, err).(weir.Refused)
	equal("never fits", never.NeverFits && never.RetryAfterMs.Get() == nil, true)

	settle := weir.NewSettle()
	settle.SetActual(map[string]float64{"tpm": 100.25})
	settled, _, err := client.LeasesAPI.SettleLease(ctx, *admitted.Lease.Get()).Settle(*settle).Execute()
	done("settling", err)
	near("remaining of tpm after settling", of(settled.Limits, "tpm").Remaining, 899.75)
	_, response, err = charge(ctx, client, map[string]float64{"rpn": 1}).Execute()
	unknown := refused("an unknown limit", 422, response, err).(weir.NotDecidable)
	equal("type of an unknown limit", unknown.Type, "unknown-limit")
}

func look(ctx context.Context, client *weir.APIClient) {
	effective, _, err := client.LimitsAPI.EffectiveLimits(ctx).Entity("key-1").Resource("gpt-4").Execute()
	done("effective limits", err)
	equal("source of the limits in force", effective.Source, weir.FROM_SYSTEM)
	equal("capacity in force", effective.Limits["tpm"].Capacity, 1000.0)
	listed, _, err := client.LimitsAPI.ListLimits(ctx).Level(weir.SYSTEM).Execute()
	done("listing limits", err)
	equal("levels", len(listed.Items) == 1 && listed.Items[0].Level == weir.SYSTEM, true)
	buckets, _, err := client.EntitiesAPI.ListBuckets(ctx, "key-1").Execute()
	done("listing buckets", err)
	consumed := map[string]float64{}
	for _, bucket := range buckets.Buckets {
		for _, limit := range bucket.Limits {
			consumed[limit.Name] = limit.Consumed
		}
	}
	equal("consumed", consumed, map[string]float64{"rpm": 1, "tpm": 100.25})
	page, _, err := client.AuditAPI.Audit(ctx).Entity("key-1").Execute()
	done("audit", err)
	equal("events", len(page.Events), 1)
	event := page.Events[0]
	equal("audit", []string{event.Action, event.Principal}, []string{"entity.put", "alice"})
	equal("before", event.Before == nil, true)
	equal("after", event.After["parent"], "org/search")
}

func change(ctx context.Context, client *weir.APIClient) {
	set := weir.NewChangeSetLimits("limits.set", weir.RESOURCE, map[string]weir.GivenLimit{"rpm": text("5/min")})
	set.SetResource("search")
	body := weir.NewChanges()
	body.SetChanges([]weir.Change{weir.ChangeSetLimitsAsChange(set),
		weir.ChangeDeleteEntityAsChange(weir.NewChangeDeleteEntity("entity.delete", "key-1"))})
	changed, _, err := client.ChangesAPI.Change(ctx).Changes(*body).Execute()
	done("changing", err)
	equal("changed", changed.Changed, int64(2))
	stored, _, err := client.LimitsAPI.GetResourceLimits(ctx, "search").Execute()
	done("getting the limits of the resource", err)
	equal("capacity of the resource", stored.Limits["rpm"].Capacity, 5.0)
	_, err = client.LimitsAPI.DeleteSystemLimits(ctx).Execute()
	done("deleting limits", err)
	_, response, err := client.LimitsAPI.GetSystemLimits(ctx).Execute()
	refused("deleted limits", 404, response, err)
}

// withoutNull is the value without members that are null: the client does not write an object that is null.
func withoutNull(value interface{}) interface{} {
	switch value := value.(type) {
	case []interface{}:
		for index := range value {
			value[index] = withoutNull(value[index])
		}
	case map[string]interface{}:
		for name, member := range value {
			if member == nil {
				delete(value, name)
			} else {
				value[name] = withoutNull(member)
			}
		}
	}
	return value
}

func readExamples(path string) {
	content, err := os.ReadFile(path)
	done("reading the examples", err)
	var examples []struct {
		Name, Schema string
		Value        json.RawMessage
	}
	done("parsing the examples", json.Unmarshal(content, &examples))
	for _, example := range examples {
		read := types[example.Schema]()
		done(example.Name, json.Unmarshal(example.Value, read))
		written, err := json.Marshal(read)
		done(example.Name, err)
		var before, after interface{}
		done(example.Name, json.Unmarshal(example.Value, &before))
		done(example.Name, json.Unmarshal(written, &after))
		equal(example.Name+", read and written", withoutNull(after), withoutNull(before))
	}
}

func main() {
	readExamples(os.Args[3])
	configuration := weir.NewConfiguration()
	configuration.Servers = weir.ServerConfigurations{{URL: os.Args[1]}}
	client := weir.NewAPIClient(configuration)
	ctx := context.WithValue(context.Background(), weir.ContextAccessToken, os.Args[2])
	setLimits(ctx, client)
	putEntities(ctx, client)
	listEntities(ctx, client)
	acquire(ctx, client)
	look(ctx, client)
	change(ctx, client)
	ready, _, err := client.ServiceAPI.Ready(ctx).Execute()
	done("asking whether it is ready", err)
	equal("ready", ready, "ready\n")
	_, response, err := client.LimitsAPI.GetSystemLimits(context.Background()).Execute()
	problem := refused("a call without a token", 401, response, err).(weir.Unauthorized)
	equal("type without a token", problem.Type, "unauthorized")
}
