import fc from 'fast-check'
import { expect, test } from 'vitest'
import { assign, positionOf } from '../../../src/backends/trial/assignment.ts'
import { place } from '../../../src/config/backends.ts'
import type { Call } from '../../../src/gateway/pipeline/call.ts'
import { bizId, type Caller } from '../../../src/kernel/index.ts'

const seed = Number(process.env.FC_SEED ?? Date.now() % 2 ** 31)

function canaryOf(settings: object) {
  const { canary } = place.parse({ url: 'in-process', canary: { url: 'http://10.0.0.6', ...settings } })
  return canary ?? expect.fail()
}

function callOf(workspace: string | null, account: string | null): Pick<Call, 'workspace' | 'caller'> {
  const caller: Caller | null =
    account === null
      ? null
      : {
          accountId: bizId(account),
          portal: 'CONSUMER',
          sessionId: null,
          apiKeyId: null,
          steppedUpAt: null,
          permissions: new Set(),
        }
  return {
    workspace: workspace === null ? null : { id: bizId(workspace), isOwner: true, permissions: new Set() },
    caller,
  }
}

test('every member of a workspace gets the same place, and a larger share only adds workspaces', () => {
  process.stdout.write(`fast-check seed ${seed} (FC_SEED repeats it)\n`)
  const share = fc.double({ min: 0, max: 1, noNaN: true })
  const property = fc.property(
    ...[fc.uuid(), fc.uuid(), fc.uuid(), share, share, fc.string({ maxLength: 8 })],
    (workspace, one, other, first, second, key) => {
      const [low, high] = [Math.min(first, second), Math.max(first, second)]
      const at = (limit: number, account: string) =>
        assign(canaryOf({ share: limit, seed: key }), callOf(workspace, account)).isCanary
      expect(at(low, one)).toBe(at(low, other))
      if (at(low, one)) expect(at(high, other)).toBe(true)
      expect([at(0, one), at(1, one)]).toEqual([false, true])
    },
  )
  fc.assert(property, { seed, numRuns: 500 })
})

test('a share selects about this many ids, and another seed selects other ones', () => {
  process.stdout.write(`fast-check seed ${seed} (FC_SEED repeats it)\n`)
  const ids = fc.sample(fc.uuid(), { seed, numRuns: 20_000 })
  const selected = (key: string) => ids.filter((id) => positionOf(key, id) < 0.1)
  // Ten standard deviations of a binomial distribution.
  expect(Math.abs(selected('').length - 2_000)).toBeLessThan(430)
  const both = new Set(selected('')).intersection(new Set(selected('other')))
  expect(Math.abs(both.size - 200)).toBeLessThan(150)
})

test('the position of an id never changes, because data are at the place that it selects', () => {
  expect(positionOf('', '01990000-0000-7000-8000-000000000001')).toBeCloseTo(0.535811, 6)
})

test.each<[string, object, [string | null, string | null], boolean]>([
  ['a named workspace', { workspaces: ['w'] }, ['w', 'a'], true],
  ['a named account in another workspace', { accounts: ['a'] }, ['w', 'a'], false],
  ['a named account without a workspace', { accounts: ['a'] }, [null, 'a'], true],
  ['a named account, sticky by account', { accounts: ['a'], sticky: 'account' }, ['w', 'a'], true],
  ['an anonymous request, with a share of 1', { share: 1 }, [null, null], false],
])('%s', (_name, settings, [workspace, account], isCanary) => {
  expect(assign({ ...canaryOf({}), ...settings }, callOf(workspace, account)).isCanary).toBe(isCanary)
})
