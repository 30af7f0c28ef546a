import { describe, expect, test } from 'vitest'
import { registerTenancy } from '../../../src/testing/suites/index.ts'
import { routesOfTopology } from '../../harness/catalogue.ts'
import { inTopology, needsStore } from '../../harness/needs.ts'
import { describeSuites } from '../../harness/world.ts'
import { notImplemented } from '../not-implemented.ts'

describe('another workspace’s id', needsStore(), () => {
  describeSuites({}, (suite) => {
    const implemented = routesOfTopology().filter(({ operation }) => !notImplemented.includes(operation.id))
    const registered: string[] = []
    const { runner } = suite
    const countTest = (name: string, run: () => Promise<void>): void => {
      registered.push(name)
      runner.test(name, run)
    }
    registerTenancy(implemented, { ...suite, runner: { ...runner, test: countTest } })

    test('the contract has ids in paths and in bodies', inTopology('embedded'), () => {
      const withIds = registered.filter((name) => name.endsWith('an unknown id'))
      const inBodies = withIds.filter((name) => name.includes('BizId'))
      expect([withIds.length - inBodies.length, inBodies.length]).toEqual([33, 30])
    })
  })
})
