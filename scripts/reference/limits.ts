import { readFileSync } from 'node:fs'
import { load } from 'js-yaml'
import { z } from 'zod'
import { catalogue } from '../../src/contract/index.ts'
import { rateGroups } from '../../src/kernel/index.ts'
import { generatedFrom, table } from './markdown.ts'

const Rule = z.object({ limit: z.int(), windowMs: z.int() })
const scopes = ['address', 'network', 'total', 'account'] as const
const Groups = z.partialRecord(z.enum(rateGroups), z.partialRecord(z.enum(scopes), Rule))
const Defaults = z.object({ limits: z.object({ address: Rule, groups: Groups }) })

/** A larger group is the default group. Do not list its operations. */
const maxListed = 20

export function limitsReference(): string {
  const file = new URL('../../config/default.yaml', import.meta.url)
  const { limits } = Defaults.parse(load(readFileSync(file, 'utf8')))
  const rules = rateGroups.flatMap((group) =>
    scopes.flatMap((scope) => {
      const rule = limits.groups[group]?.[scope]
      return rule ? [[`\`${group}\``, scope, String(rule.limit), windowOf(rule.windowMs)]] : []
    }),
  )
  const everything = ['every operation', 'address', String(limits.address.limit), windowOf(limits.address.windowMs)]
  return `${generatedFrom('config/default.yaml and the contracts')}# Limits

The gateway counts requests in fixed windows. A request above a limit gets 429 \`ACCESS.RATE_LIMITED\` with \`Retry-After\`. Around
the boundary between two windows, up to twice the limit can get through.

## Defaults

${table(['group', 'counted by', 'requests', 'window'], [everything, ...rules])}

| counted by | meaning |
| --- | --- |
| address | the client address; IPv6 by its /56 |
| network | an IPv4 /24 or an IPv6 /48 |
| total | all clients of one portal |
| account | one count for all sessions of an account, and another for all its API keys |

In \`mfaSend\` and \`forgot\` the account limit counts the mails to one account. A group without an account limit uses that of
\`general\`.

The network limits stop floods that rotate addresses, and leave room for a company: 300 sign-ins a minute are 9,000 in half an
hour, as many as channels can be opened. Behind one shared address, the address limit applies first. Raise both, in
\`portals.<portal>.limits\`, if more people than that sign in from one address or network at the same time.

The total of \`channelOpen\` counts only valid openings. Invalid ones count towards their address and network.

## Groups

Each operation counts towards one group:

${table(
  ['group', 'operations'],
  rateGroups.map((group) => [`\`${group}\``, operationsOf(group)]),
)}

## Change a limit

\`limits\` sets the limits of the deployment, and \`portals.<portal>.limits\` those of one portal. \`PORTICO_RATE_LIMIT_SCALE\` multiplies
all of them. See the [configuration](configuration.md#limits). Send SIGHUP to each replica, or change its file: the limits
[reload](configuration.md) without a restart, and counts continue.

[Limits of money](../concepts/ledger.md#limits) cover exactly 24 hours.

## Response headers

Every response of a limited operation describes the limit that is closest to exhaustion:

\`\`\`text
RateLimit-Policy: "money-account";q=120;w=60
RateLimit: "money-account";r=117;t=42
\`\`\`

\`q\` is the limit and \`w\` the window in seconds. \`r\` is the number of remaining requests, and \`t\` the seconds until the window ends.

## Lists

Totals of lists are exact up to 10,000 matching records. Above that, \`totalRecords\` and \`totalPages\` can be estimates from the
statistics of the database. The response then has the header \`X-Total-Estimated: true\`, and the client’s \`answer\` has
\`isTotalEstimated\`. \`hasNext\` is always exact.

\`currentPage\` times \`pageSize\` can be at most 100,000. A deeper page gets 400 \`VALIDATION.INVALID_PARAMETER\`, which names
\`currentPage\`. To read all records, [use a cursor](../guides/lists.md#read-a-list-completely) or create an export.

## Other bounds

| bound | setting |
| --- | --- |
| failed sign-ins per account | \`login.failures\` |
| code attempts per sign-in | \`login.attempts\` |
| concurrent sign-in steps, and their queue | \`login.concurrency\`, \`login.queue\` |
| concurrent sessions per account | \`sessions.maxConcurrent\` |
| open event streams and WebSockets, per account, address and replica | \`streams\` |
| size of a JSON body | \`requests.maxBodyBytes\` |
| size of an upload, download or body that is passed through to a service | \`backends.<name>.maxStreamBytes\` |
| size of a file, by purpose | \`files.purposes\` |
| invitations per workspace and day | \`access.invitations\` |
| API keys, roles and workspaces | \`access\` |
`
}

function windowOf(ms: number): string {
  return ms % 3_600_000 === 0 ? `${ms / 3_600_000} h` : `${ms / 60_000} min`
}

function operationsOf(group: string): string {
  const ids = catalogue.filter(({ policy }) => policy.rate === group).map(({ id }) => `\`${id}\``)
  ids.sort()
  return ids.length > maxListed ? 'all others' : ids.join(', ')
}
