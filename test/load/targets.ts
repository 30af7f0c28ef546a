/** A performance target. It limits the median ratio within one run. The gateway uses one core and all features. */
export interface Target {
  /** Id of the measurement. */
  figure: string
  description: string
  atLeast?: number
  atMost?: number
}

export const targets: readonly Target[] = [
  {
    figure: 'proxied-get/express-composed',
    description: 'proxied GET against the obvious Express composition',
    atLeast: 6,
  },
  {
    figure: 'proxied-get/express-bare',
    description: 'proxied GET against Express + http-proxy-middleware, nothing checked',
    atLeast: 2,
  },
  {
    figure: 'proxied-get/fastify-bare',
    description: 'proxied GET against Fastify + @fastify/http-proxy, nothing checked',
    atLeast: 1.4,
  },
  {
    figure: 'proxied-get/undici-bare',
    description: 'proxied GET against node:http + undici, nothing checked',
    atLeast: 0.8,
  },
  { figure: 'in-process-get/express-json', description: 'in-process GET against Express res.json', atLeast: 0.95 },
  { figure: 'encrypted-post/clear', description: 'encrypted POST against the same POST in the clear', atLeast: 0.75 },
  { figure: 'logins/argon2id', description: 'whole logins against argon2id alone', atLeast: 0.85 },
  {
    figure: 'transfers-postgres/pgbench',
    description: 'transfers on PostgreSQL against pgbench with the plain statements',
    atLeast: 0.5,
  },
  {
    figure: 'transfers-pglite/kysely',
    description: 'transfers on PGlite against the plain statements through Kysely',
    atLeast: 1,
  },
  {
    figure: 'login-storm/quiet',
    description: 'p99 of unrelated GETs under 200 parallel logins against their quiet p99',
    atMost: 5,
  },
  {
    figure: 'memory/middle-third',
    description: 'memory in the last third of the run against the middle third',
    atMost: 1.1,
  },
]

export const reached = ({ atLeast, atMost }: Target, value: number): boolean =>
  (atLeast === undefined || value >= atLeast) && (atMost === undefined || value <= atMost)
