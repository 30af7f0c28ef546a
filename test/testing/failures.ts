import type { Domain } from '../../src/api/domain.ts'
import { type PromiseOptions, promises } from '../../src/testing/index.ts'

export interface Failure {
  name: string
  message: string
}

/** Runs the tests that `promises` declares without a test runner. Returns the failed tests. */
export async function failuresOf(domains: readonly Domain[], options: PromiseOptions = {}): Promise<Failure[]> {
  const tests: [string, () => Promise<void>][] = []
  const before: (() => Promise<void>)[] = []
  const after: (() => Promise<void>)[] = []
  promises(
    domains,
    {
      describe: (_, define) => define(),
      test: (name, run) => void tests.push([name, run]),
      before: (run) => void before.push(run),
      after: (run) => void after.push(run),
    },
    options,
  )
  for (const run of before) await run()
  const failed: Failure[] = []
  for (const [name, run] of tests) await run().catch((error: unknown) => failed.push({ name, message: String(error) }))
  for (const run of after) await run()
  return failed
}
