import { describe, expect, test } from 'vitest'
import { limitsOf, rateGroupErrors, withRateGroups } from '../../src/config/index.ts'
import { rateGroups } from '../../src/kernel/index.ts'
import { testSettings } from '../harness/settings.ts'

function rule(limit: number) {
  return { limit, windowMs: 60_000 }
}
const declared = { cards: { account: rule(10), address: rule(20) } }

describe('the rate groups of a domain', () => {
  test('have the declared limits, unless the configuration replaces them', () => {
    const settings = testSettings({}, ({ limits, portals }) => {
      limits.groups.cards = { account: rule(5) }
      portals.SYSTEM.limits = { groups: { cards: { account: rule(2) } } }
    })
    const merged = withRateGroups(settings, declared)
    const groupAt = (portal: 'CONSUMER' | 'SYSTEM') => limitsOf(merged, portal).groups.get('cards')
    expect(groupAt('CONSUMER')).toEqual({ account: rule(5), address: rule(20) })
    expect(groupAt('SYSTEM')).toEqual({ account: rule(2), address: rule(20) })
    expect(limitsOf(merged, null).groups.get('money')).toEqual(settings.limits.groups.money)
  })

  test('are the only additions: every other name in the configuration is an error', () => {
    const settings = testSettings({}, ({ limits, portals }) => {
      limits.groups.cards = { account: rule(5) }
      portals.CONSUMER.channelMandatory = ['cards']
    })
    expect(rateGroupErrors(settings, new Set([...rateGroups, 'cards']))).toEqual([])
    expect(rateGroupErrors(settings, new Set(rateGroups))).toEqual([
      'limits.groups: no rate limit group has the name cards; correct it or remove it',
      'portals.CONSUMER.channelMandatory: no rate limit group has the name cards; correct it or remove it',
    ])
  })
})
