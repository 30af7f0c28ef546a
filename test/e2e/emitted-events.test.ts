import { describe, expect, test } from 'vitest'
import { developmentIds } from '../../src/seed/development.ts'
import { isCommand } from '../../src/testing/routes.ts'
import type { World } from '../../src/testing/suites/index.ts'
import type { Place, Sample } from '../../src/testing/world.ts'
import { routes } from '../harness/catalogue.ts'
import { bankingSamples } from '../harness/samples.ts'
import { describeSuites } from '../harness/world.ts'

/* Each type in `emits` has to happen in this file, and no other may. */

type Input = (place: Place) => Sample | Promise<Sample>

const sampleOf = async (id: string, place: Place): Promise<Sample> => (await bankingSamples[id]?.(place)) ?? {}

/** Commands with several outcomes, and commands that emit about something else than they name. */
const inputs: Readonly<Record<string, readonly Input[]>> = {
  'transfers.create': [
    (place) => sampleOf('transfers.create', place),
    // Below the approval threshold.
    async (place) => {
      const sample = await sampleOf('transfers.create', place)
      return { ...sample, body: { ...sample.body, amount: '0.50' } }
    },
  ],
  'sandbox.reset': [
    async (place) => {
      // Orders in each status that the reset ends.
      for (const id of ['transfers.cancel', 'recharges.cancel', 'withdrawals.cancel', 'withdrawals.fail'])
        await sampleOf(id, place)
      return {}
    },
  ],
}
/** A second operator has to confirm what the first one has set. */
const ofSeveral = ['exchanges.confirmRate']

const inputsOf = (id: string): readonly Input[] =>
  inputs[id] ?? (Object.hasOwn(bankingSamples, id) ? [(place) => sampleOf(id, place)] : [])
const commands = routes.filter(
  (route) => isCommand(route) && inputsOf(route.operation.id).length > 0 && !ofSeveral.includes(route.operation.id),
)

describe('the events of a command', () => {
  const adjust: Parameters<typeof describeSuites>[0]['adjust'] = ({ money }) => {
    money.transferApprovalFrom = { USD: '1.00' }
  }
  describeSuites({ adjust }, ({ world }) => {
    test.each(commands.map((route) => [route.name, route] as const))('%s: are those of `emits`', async (_, route) => {
      const { id, emits = [] } = route.operation
      const found = new Set<string>()
      for (const sample of inputsOf(id)) {
        const place = await world().openPlace()
        const input = { ...(await world().validInputIn(place, route)), ...(await sample(place)) }
        const before = await settle(world())
        const reply = await world().send(route, world().headersFor(route, place.workspaceId), input)
        expect(reply.status, reply.text).toBe(200)
        for (const type of await settle(world(), before.cursor).then(({ types }) => types)) found.add(type)
      }
      expect([...found].sort()).toEqual([...emits].sort())
    })
  })

  test('are tested for each operation with `emits`', () => {
    const tested = new Set(commands.map(({ operation }) => operation.id))
    const declaring = routes.filter(({ operation }) => (operation.emits ?? []).length > 0)
    expect(declaring.length).toBeGreaterThan(10)
    expect(declaring.filter(({ operation }) => !tested.has(operation.id)).map(({ name }) => name)).toEqual([])
  })
})

interface Feed {
  data: { events: { type: string; subject: string }[]; nextCursor: string }
}

/**
 * Makes a transfer, and reads the feed until its event: events that committed before have lower positions. Returns the
 * types in front of it.
 */
async function settle(
  { gateway, owner, operator }: World,
  after?: string,
): Promise<{ cursor: string; types: string[] }> {
  const { workspace, mainUsd, savingsUsd } = developmentIds
  const body = { sourceWalletBizId: mainUsd, targetWalletBizId: savingsUsd, amount: '0.01', currency: 'USD' }
  const made = await gateway.call('POST', '/web/v1/consumer/transfer/command/create', {
    headers: { ...bearerOf(owner), 'x-workspace-id': workspace },
    body,
  })
  const { data: order } = made.body as { data: { bizId: string } }
  const types: string[] = []
  for (let cursor = after; ; ) {
    const path = `/web/v1/system/events${cursor === undefined ? '' : `?after=${cursor}`}`
    const { body } = await gateway.call('GET', path, { headers: bearerOf(operator) })
    const { events, nextCursor } = (body as Feed).data
    cursor = nextCursor
    for (const { type, subject } of events) {
      if (subject === order.bizId) return { cursor, types }
      types.push(type)
    }
  }
}

function bearerOf({ accessToken, clientHash }: World['owner']): Record<string, string> {
  return { authorization: `Bearer ${accessToken}`, 'x-client-hash': clientHash }
}
