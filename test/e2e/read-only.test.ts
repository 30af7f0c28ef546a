import { describe, expect, test } from 'vitest'
import { isWrite, registerReadOnly } from '../../src/testing/suites/index.ts'
import { routes } from '../harness/catalogue.ts'
import { openToReaders } from '../harness/samples.ts'
import { describeSuites } from '../harness/world.ts'

describe('a read-only role', () => {
  describeSuites({}, (suite) => registerReadOnly(routes, suite, openToReaders))

  test('the contract has writes to refuse', () => expect(routes.filter(isWrite).length).toBeGreaterThan(20))
})
