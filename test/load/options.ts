import { parseArgs } from 'node:util'
import { type Scale, scaleOf } from './growth/lists.ts'
import type { Kind } from './store/stores.ts'

export interface Options {
  scenarios: string[]
  rounds: number
  seconds: number
  connections: number
  profile: boolean
  memorySeconds: number
  /** Used by the proxied, in-process and encrypted scenarios. */
  store: Kind
  /** In seconds. No scenario starts later in the run. */
  limitSeconds: number
  json: string | null
  svg: string | null
  html: string | null
  /** Measures the growth of lists instead of scenarios. */
  scale: Scale | null
  /** Measures what else grows (growth/index.ts), instead of scenarios. */
  growths: string[]
}

export const usage = `npm run bench -- [options]

  --scenario NAME    one of them (may be given several times); all of them otherwise
  --rounds N         measured rounds of each contender (8; 1 with --quick)
  --seconds S        length of a round (3; 1 with --quick)
  --connections N    parallel connections of the load (64)
  --memory-seconds S length of the memory run (180; 9 with --quick)
  --store KIND       pglite or postgres for proxied, in-process and encrypted requests (pglite)
  --profile          a CPU profile of the gateway under load, run from its sources, with its ten costliest functions
  --quick            one short round of each contender: shows that everything runs
  --scale SIZE       small, medium or large: how lists grow with the store, without any scenario (large takes minutes)
  --growth NAME      how cost grows with operations, accounts, connections, streams or replicas, without any scenario
  --json FILE        everything that was measured
  --svg FILE         a chart
  --html FILE        a page with the chart and the tables
`

function whole(text: string | undefined, otherwise: number): number {
  const value = text === undefined ? otherwise : Number(text)
  if (!Number.isInteger(value) || value < 1) throw new TypeError(`'${text}' is not a whole number`)
  return value
}

function kindOf(text: string): Kind {
  if (text !== 'pglite' && text !== 'postgres') throw new TypeError(`no store '${text}'`)
  return text
}

export function readOptions(args: string[]): Options | null {
  const { values } = parseArgs({
    args,
    options: {
      scenario: { type: 'string', multiple: true },
      rounds: { type: 'string' },
      seconds: { type: 'string' },
      connections: { type: 'string' },
      'memory-seconds': { type: 'string' },
      profile: { type: 'boolean', default: false },
      quick: { type: 'boolean', default: false },
      store: { type: 'string', default: 'pglite' },
      scale: { type: 'string' },
      growth: { type: 'string', multiple: true },
      json: { type: 'string' },
      svg: { type: 'string' },
      html: { type: 'string' },
      help: { type: 'boolean', short: 'h', default: false },
    },
  })
  if (values.help) return null
  const { quick } = values
  return {
    scenarios: values.scenario ?? [],
    rounds: whole(values.rounds, quick ? 1 : 8),
    seconds: whole(values.seconds, quick ? 1 : 3),
    connections: whole(values.connections, 64),
    memorySeconds: whole(values['memory-seconds'], quick ? 9 : 180),
    profile: values.profile,
    store: kindOf(values.store),
    limitSeconds: quick ? 160 : 1800,
    json: values.json ?? null,
    svg: values.svg ?? null,
    html: values.html ?? null,
    scale: scaleOf(values.scale),
    growths: values.growth ?? [],
  }
}
