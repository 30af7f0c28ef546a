/** Limits the median ratio within one run. The gateway uses one core. */
export interface Target {
  figure: string
  description: string
  atLeast?: number
  atMost?: number
}

export const targets: readonly Target[] = [
  {
    figure: 'proxied-get/haproxy',
    description: 'proxied GET against HAProxy with ES256, limits and header rules',
    atLeast: 1,
  },
  { figure: 'proxied-get/haproxy/cpu', description: 'the same, CPU per request', atLeast: 1 },
  {
    figure: 'proxied-post/haproxy',
    description: 'proxied POST against HAProxy with ES256, limits and header rules',
    atLeast: 1,
  },
  { figure: 'proxied-post/haproxy/cpu', description: 'the same, CPU per request', atLeast: 1 },
  {
    figure: 'proxied-get/express-composed',
    description: 'proxied GET against the obvious Express composition with comparable checks',
    atLeast: 4.5,
  },
  { figure: 'proxied-get/express-composed/cpu', description: 'the same, CPU per request', atLeast: 4.5 },
  {
    figure: 'proxied-get/express-tuned/cpu',
    description: 'CPU of a hand-tuned Express handler with the same duties, divided by the CPU of Portico',
    atLeast: 1 / 1.4,
  },
  {
    figure: 'without-checks/highest-cost',
    description: 'CPU of a proxied GET divided by its CPU without the most expensive check',
    atMost: 1.15,
  },
  { figure: 'in-process-get/express-json', description: 'in-process GET against Express res.json', atLeast: 1 },
  { figure: 'encrypted-post/clear', description: 'encrypted POST against the same POST in the clear', atLeast: 0.75 },
  { figure: 'logins/argon2id', description: 'whole logins against argon2id alone', atLeast: 0.65 },
  {
    figure: 'transfers-postgres/pgbench',
    description: 'transfers on PostgreSQL against pgbench with the plain statements',
    atLeast: 0.35,
  },
  {
    figure: 'transfers-pglite/kysely',
    description: 'transfers on PGlite against the plain statements through Kysely',
    atLeast: 1,
  },
  { figure: 'events/sequencer', description: 'events a second from the outbox to the feed', atLeast: 1_000 },
  {
    figure: 'events/without',
    description: 'transfers with their events against transfers without them',
    atLeast: 0.7,
  },
  {
    figure: 'login-storm/quiet',
    description: 'p99 of unrelated GETs under 200 parallel logins against their quiet p99',
    atMost: 4,
  },
  {
    figure: 'memory/middle-third',
    description: 'memory in the last third of the run against the middle third',
    atMost: 1.1,
  },
]

export function reached({ atLeast, atMost }: Target, value: number): boolean {
  return (atLeast === undefined || value >= atLeast) && (atMost === undefined || value <= atMost)
}
