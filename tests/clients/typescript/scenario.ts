// The scenario of the generated TypeScript client: node scenario.js URL TOKEN EXAMPLES. ../scenario.py has the same.
import * as weir from './client';

declare function require(name: 'fs'): { readFileSync(path: string, encoding: 'utf8'): string };
declare const process: { argv: string[]; exit(code: number): never };

const HUNDRED_DAYS = 8_640_000_000; // in milliseconds: more than 32 bits hold
const NEAR = 0.01; // more than refills while the scenario runs

function equal(what: string, actual: unknown, expected: unknown): void {
  if (JSON.stringify(actual) !== JSON.stringify(expected)) {
    throw new Error(`${what} is ${JSON.stringify(actual)}, not ${JSON.stringify(expected)}`);
  }
}

/** The same value, with the members of objects in the order of their names. */
function sorted(value: unknown): unknown {
  if (value === null || typeof value !== 'object') return value;
  if (Array.isArray(value)) return value.map(sorted);
  const members = Object.entries(value).filter(([, member]) => member !== undefined);
  return Object.fromEntries(members.sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, member]) => [name, sorted(member)]));
}

function near(what: string, actual: number | undefined, expected: number): void {
  if (actual === undefined || actual < expected || actual > expected + NEAR) {
    throw new Error(`${what} is ${actual}, not ${expected}`);
  }
}

/** The problem that the call is answered with. */
async function refused<T>(what: string, status: number, read: (json: any) => T, call: Promise<unknown>): Promise<T> {
  try {
    await call;
  } catch (error) {
    if (!(error instanceof weir.ResponseError)) throw error;
    equal(`status of ${what}`, error.response.status, status);
    const json = await error.response.json();
    equal(`status in the body of ${what}`, json.status, status);
    return read(json);
  }
  throw new Error(`${what} was not refused`);
}

async function setLimits(limits: weir.LimitsApi): Promise<void> {
  const stored = await limits.setSystemLimits({
    setLimits: { limits: { rpm: '3/d', tpm: { capacity: 1000, refillPeriodMs: HUNDRED_DAYS } } },
  });
  equal('owner', stored.owner, weir.Owner.Operator);
  equal('capacity of rpm', stored.limits['rpm']?.capacity, 3);
  equal('period of rpm', stored.limits['rpm']?.refillPeriodMs, 86_400_000);
  equal('burst of tpm', stored.limits['tpm']?.burst, 1000);
  equal('period of tpm', stored.limits['tpm']?.refillPeriodMs, HUNDRED_DAYS);
}

async function putEntities(entities: weir.EntitiesApi): Promise<void> {
  await entities.putEntity({ entity: 'org/search', putEntity: { name: 'Search' } });
  const put = await entities.putEntity({
    entity: 'key-1',
    putEntity: { parent: 'org/search', metadata: { team: 'search' } },
  });
  equal('parent', put.parent, 'org/search');
  equal('cascade', put.cascade, false);
  equal('metadata', put.metadata, { team: 'search' });
  equal('a name that needs an escape', (await entities.getEntity({ entity: 'org/search' })).name, 'Search');
  equal('createdAtMs is a moment', put.createdAtMs > 1_700_000_000_000, true);
  equal('children', (await entities.listChildren({ entity: 'org/search' })).children, ['key-1']);
  const missing = await refused('a missing entity', 404, weir.NotFoundFromJSON, entities.getEntity({ entity: 'nobody' }));
  equal('type of a missing entity', missing.type, weir.NotFoundTypeEnum.NotFound);
  const names: string[] = [];
  let cursor: string | undefined;
  do {
    const page: weir.EntitiesPage = await entities.listEntities({ limit: 1, cursor });
    names.push(...page.items.map((entity) => entity.entity));
    cursor = page.next;
  } while (cursor);
  equal('names in pages', names, ['key-1', 'org/search']);
}

async function acquire(decisions: weir.DecisionsApi, leases: weir.LeasesApi): Promise<void> {
  const charge = (consume: { [name: string]: number }, idempotencyKey?: string): Promise<weir.Admitted> =>
    decisions.acquire({ acquire: { entity: 'key-1', resource: 'gpt-4', consume }, idempotencyKey });
  const admitted = await charge({ rpm: 1, tpm: 400.5 }, 'call-1');
  equal('allowed', [admitted.allowed, admitted.degraded ?? 'not there'], [true, 'not there']);
  const [rpm, tpm] = admitted.limits;
  equal('names of limits', [rpm?.name, tpm?.name], ['rpm', 'tpm']);
  equal('source', rpm?.source, weir.Source.FROM_SYSTEM);
  equal('requested of tpm', tpm?.requested, 400.5);
  near('remaining of rpm', rpm?.remaining, 2);
  near('remaining of tpm', tpm?.remaining, 599.5);

  const problem = await refused('too many requests', 429, weir.RefusedFromJSON, charge({ rpm: 3 }));
  equal('type', problem.type, 'https://iana.org/assignments/http-problem-types#quota-exceeded');
  equal('allowed and neverFits', [problem.allowed, problem.neverFits], [false, false]);
  equal('violated policies', problem.violatedPolicies, ['rpm']);
  equal('exceeded', problem.limits.find((limit) => limit.name === 'rpm')?.exceeded, true);
  const wait = problem.retryAfterMs ?? 0;
  equal('wait of at most a third of a day', 0 < wait && wait <= 28_800_000, true);
  const never = await refused('more than fits', 429, weir.RefusedFromJSON, charge({ tpm: 1001 }));
  equal('never fits', [never.neverFits, never.retryAfterMs], [true, null]);

  if (admitted.lease === null) throw new Error('there is no lease');
  const settled = await leases.settleLease({ lease: admitted.lease, settle: { actual: { tpm: 100.25 } } });
  near('remaining of tpm after settling', settled.limits.find((limit) => limit.name === 'tpm')?.remaining, 899.75);
  const unknown = await refused('an unknown limit', 422, weir.NotDecidableFromJSON, charge({ rpn: 1 }));
  equal('type of an unknown limit', unknown.type, weir.NotDecidableTypeEnum.UnknownLimit);
}

async function look(limits: weir.LimitsApi, entities: weir.EntitiesApi, audit: weir.AuditApi): Promise<void> {
  const effective = await limits.effectiveLimits({ entity: 'key-1', resource: 'gpt-4' });
  equal('source of the limits in force', effective.source, weir.Source.FROM_SYSTEM);
  equal('capacity in force', effective.limits['tpm']?.capacity, 1000);
  const listed = await limits.listLimits({ level: weir.Level.System });
  equal('levels', listed.items.map((item) => item.level), [weir.Level.System]);
  const { buckets } = await entities.listBuckets({ entity: 'key-1' });
  equal('consumed', buckets.map((bucket) => bucket.limits.map((limit) => [limit.name, limit.consumed])),
    [[['rpm', 1], ['tpm', 100.25]]]);
  const { events } = await audit.audit({ entity: 'key-1' });
  equal('audit', events.map((event) => [event.action, event.principal, event.before, (event.after as any)?.parent]),
    [[weir.AuditEventActionEnum.EntityPut, 'alice', null, 'org/search']]);
}

async function change(changes: weir.ChangesApi, limits: weir.LimitsApi): Promise<void> {
  const changed = await changes.change({
    changes: {
      changes: [
        { change: 'limits.set', level: weir.Level.Resource, resource: 'search', limits: { rpm: '5/min' } },
        { change: 'entity.delete', entity: 'key-1' },
      ],
    },
  });
  equal('changed', changed.changed, 2);
  const stored = await limits.getResourceLimits({ resource: 'search' });
  equal('capacity of the resource', stored.limits['rpm']?.capacity, 5);
  await limits.deleteSystemLimits();
  await refused('deleted limits', 404, weir.NotFoundFromJSON, limits.getSystemLimits());
}

function readExamples(path: string): void {
  const functions = weir as unknown as { [name: string]: (value: unknown) => unknown };
  const examples: { name: string; schema: string; value: unknown }[] = JSON.parse(require('fs').readFileSync(path, 'utf8'));
  for (const { name, schema, value } of examples) {
    const read = functions[`${schema}FromJSON`]!(value);
    equal(`${name}, read and written`, sorted(functions[`${schema}ToJSON`]!(read)), sorted(value));
  }
}

async function main(url: string, token: string, examples: string): Promise<void> {
  readExamples(examples);
  const configuration = new weir.Configuration({ basePath: url, accessToken: token });
  const limits = new weir.LimitsApi(configuration);
  const entities = new weir.EntitiesApi(configuration);
  await setLimits(limits);
  await putEntities(entities);
  await acquire(new weir.DecisionsApi(configuration), new weir.LeasesApi(configuration));
  await look(limits, entities, new weir.AuditApi(configuration));
  await change(new weir.ChangesApi(configuration), limits);
  equal('ready', await new weir.ServiceApi(configuration).ready(), 'ready\n');
  const stranger = new weir.LimitsApi(new weir.Configuration({ basePath: url }));
  const problem = await refused('a call without a token', 401, weir.UnauthorizedFromJSON, stranger.getSystemLimits());
  equal('type without a token', problem.type, weir.UnauthorizedTypeEnum.Unauthorized);
}

const [, , url, token, examples] = process.argv as [string, string, string, string, string];
main(url, token, examples).catch((error) => {
  console.error(error);
  process.exit(1);
});
