import { parseArgs } from 'node:util'

export interface Options {
  scenarios: string[]
  rounds: number
  seconds: number
  connections: number
  profile: boolean
  memorySeconds: number
  json: string | null
  svg: string | null
}

export const usage = `npm run bench -- [options]

  --scenario NAME    one of them (may be given several times); all of them otherwise
  --rounds N         measured rounds of each contender (5; 2 with --quick)
  --seconds S        length of a round (3; 2 with --quick)
  --connections N    parallel connections of the load (64)
  --memory-seconds S length of the memory run (180; 15 with --quick)
  --profile          a CPU profile of the gateway under load, with its ten costliest functions
  --quick            under two minutes: fewer and shorter rounds
  --json FILE        everything that was measured
  --svg FILE         a chart
`

const whole = (text: string | undefined, otherwise: number): number => {
  const value = text === undefined ? otherwise : Number(text)
  if (!Number.isInteger(value) || value < 1) throw new TypeError(`'${text}' is no whole number`)
  return value
}

export const readOptions = (args: string[]): Options | null => {
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
      json: { type: 'string' },
      svg: { type: 'string' },
      help: { type: 'boolean', short: 'h', default: false },
    },
  })
  if (values.help) return null
  const { quick } = values
  return {
    scenarios: values.scenario ?? [],
    rounds: whole(values.rounds, quick ? 2 : 5),
    seconds: whole(values.seconds, quick ? 2 : 3),
    connections: whole(values.connections, 64),
    memorySeconds: whole(values['memory-seconds'], quick ? 15 : 180),
    profile: values.profile,
    json: values.json ?? null,
    svg: values.svg ?? null,
  }
}
