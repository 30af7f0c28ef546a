import { deepEqual } from 'node:assert/strict'

/** The functions of vitest, or of a compatible runner. */
export interface VitestFunctions {
  describe(name: string, define: () => void): void
  test(name: string, run: () => Promise<void>): void
  beforeAll(run: () => Promise<void>): void
  afterAll(run: () => Promise<void>): void
  expect(actual: unknown, message?: string): { toEqual(expected: unknown): void }
}

/** The functions of `node:test`. */
export interface NodeTestFunctions {
  describe(name: string, define: () => void): void
  test(name: string, run: () => Promise<void>): void
  before(run: () => Promise<void>): void
  after(run: () => Promise<void>): void
}

/** The functions of `vitest` or `node:test`. */
export type TestFunctions = VitestFunctions | NodeTestFunctions

export interface Runner extends Omit<VitestFunctions, 'expect'> {
  assertEqual(actual: unknown, expected: unknown, message?: string): void
}

export function toRunner(functions: TestFunctions): Runner {
  return {
    describe: (name, define) => void functions.describe(name, define),
    test: (name, run) => void functions.test(name, run),
    beforeAll: (run) => ('beforeAll' in functions ? functions.beforeAll(run) : functions.before(run)),
    afterAll: (run) => ('afterAll' in functions ? functions.afterAll(run) : functions.after(run)),
    assertEqual: (actual, expected, message) => {
      if ('expect' in functions) functions.expect(actual, message).toEqual(expected)
      else if (message === undefined) deepEqual(actual, expected)
      else deepEqual(actual, expected, message)
    },
  }
}
