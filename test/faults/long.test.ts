import { afterAll, expect, test } from 'vitest'
import { needs } from '../harness/needs.ts'
import { startDeployment } from '../long/deployment.ts'
import { runLong } from '../long/run.ts'

const seed = Number(process.env.PORTICO_LONG_SEED ?? Math.floor(Math.random() * 2 ** 31))
const deployment = await startDeployment(3_000)
afterAll(() => deployment?.stop())

test(
  `the short form of npm run test:long: each order exactly once, balances as predicted (seed ${seed})`,
  needs(deployment, 'PostgreSQL or Redis is not installed'),
  async () => {
    if (!deployment) throw new Error('unreachable')
    const lines: string[] = []
    // Each kind of fault once.
    await runLong(deployment, {
      ...{ seed, orders: 600, faults: 9, clients: 8, places: 4 },
      report: (line) => lines.push(line),
    })
    expect(
      lines.filter((line) => line.includes(', gateway ')),
      lines.join('\n'),
    ).toHaveLength(9)
  },
)
