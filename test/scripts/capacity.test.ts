import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import measured from '../../scripts/capacity/measured.json' with { type: 'json' }
import { capacityOf, compareWithCheck, defaults, limitsOf } from '../../scripts/capacity/model.ts'
import { capacityTables } from '../../scripts/capacity/tables.ts'
import { documentedAccounts, readCapacityOptions } from '../../scripts/capacity.ts'
import { root } from '../harness/settings.ts'

describe('capacity', () => {
  const page = readFileSync(join(root, 'docs/scale.md'), 'utf8')

  test.each(capacityTables(documentedAccounts, defaults, measured))('docs/scale.md has the table $title', (table) => {
    expect(page).toContain(`\n${table.markdown}\n`)
  })

  test('an option changes its assumption; an unknown one and a value that is not positive are refused', () => {
    const { accounts, assumptions } = readCapacityOptions([
      '--accounts',
      '5000',
      '--orders',
      '2',
      '--cold-share',
      '0.5',
    ])
    expect([accounts, assumptions]).toEqual([[5_000], { ...defaults, orders: 2, coldShare: 0.5 }])
    for (const args of [
      ['--order', '2'],
      ['--orders', '0'],
      ['--orders', 'many'],
      ['--accounts', '-1'],
    ])
      expect(() => readCapacityOptions(args)).toThrow(TypeError)
  })

  test('ten times the accounts need ten times the disk, and ten times the orders more cores', () => {
    const [one, ten] = [1_000_000, 10_000_000].map((accounts) => capacityOf(accounts, defaults, measured))
    expect((ten?.diskBytes.kept ?? 0) / (one?.diskBytes.kept ?? 1)).toBeCloseTo(10)
    const busy = capacityOf(10_000_000, { ...defaults, orders: 2 }, measured)
    expect(busy.postgresCores).toBeGreaterThan((ten?.postgresCores ?? 0) * 2)
  })

  test('the lowest limit is first, and falls with more orders', () => {
    const [few, many] = [defaults, { ...defaults, orders: 2 }].map((each) => limitsOf(each, measured))
    expect(few?.map(({ accounts }) => accounts)).toEqual(few?.map(({ accounts }) => accounts).sort((a, b) => a - b))
    expect(many?.[0]?.accounts).toBeLessThan(few?.[0]?.accounts ?? 0)
  })

  test('the model predicts the measured mix within a factor of two', () => {
    for (const { name, predicted, measured: found } of compareWithCheck(measured)) {
      expect(found / predicted, name).toBeGreaterThan(0.5)
      expect(found / predicted, name).toBeLessThan(2)
    }
  })
})
