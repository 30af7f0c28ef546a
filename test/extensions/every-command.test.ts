import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { domain } from '../../src/api/domain.ts'
import type { Hook } from '../../src/api/hooks.ts'
import { disableAnyApiKey } from '../../src/banking/api-keys/contract.ts'
import { bankingDomains } from '../../src/banking/index.ts'
import { freezeWallet } from '../../src/banking/wallets/contract.ts'
import { disableAnyWebhook } from '../../src/banking/webhooks/contract.ts'
import { createWithdrawalChannel } from '../../src/banking/withdrawal-channels/contract.ts'
import { freezeWorkspace } from '../../src/banking/workspaces/contract.ts'
import { sqlMigration } from '../../src/database/index.ts'
import { commandsWithoutTransaction } from '../../src/extensions/index.ts'
import { type Code, isPassThrough, Refusal } from '../../src/kernel/index.ts'
import { send } from '../../src/testing/http.ts'
import { type Route, routesIn } from '../../src/testing/routes.ts'
import { startTestGateway } from '../../src/testing/start.ts'
import { addedRows, EffectStore } from '../../src/testing/store.ts'
import { needsSample } from '../../src/testing/suites/index.ts'
import { type Place, type Samples, World } from '../../src/testing/world.ts'
import { operatorKey, operatorKeyIn } from '../harness/event-stage.ts'
import { payoutAccount } from '../harness/payout-account.ts'
import { bankingSamples } from '../harness/samples.ts'

/** They need other people, operators, an identity provider or an empty wallet. All run in one transaction, as the others of their domains do. */
const withoutSample = [
  ...['apiKeys.disableOfOperators', 'apiKeys.enableOfOperators'],
  ...['exchanges.confirmRate', 'invitations.accept', 'invitations.decline', 'workspaces.leave'],
  ...['operators.approveAccount', 'operators.reactivateAccount', 'operators.rejectAccount'],
  'proposals.invite',
  ...['proposals.confirm', 'proposals.proposeOwner', 'proposals.proposePermissions', 'proposals.reject'],
  ...['proposals.resetFactor', 'proposals.revokePermissions', 'wallets.close', 'wallets.create'],
]

const reason = { reason: 'a test of hooks' }

/** The id in the body of a sample, as a parameter of the path. */
const ofBody =
  (id: string, field: string, param: string, body: object = {}) =>
  async (place: Place) => ({
    params: { [param]: String((await bankingSamples[id]?.(place))?.body?.[field]) },
    body: { ...body },
  })
const ofWallet = async (place: Place) => ({ ...(await bankingSamples['wallets.read']?.(place)), body: reason })
const ofFrozenWallet = async (place: Place) => {
  const sample = await ofWallet(place)
  await place.run(freezeWallet, sample)
  return sample
}
const ofChannel = async (place: Place) => {
  const { bizId } = await place.run(createWithdrawalChannel, { body: payoutAccount() })
  return { params: { withdrawal_channel_id: bizId }, body: reason }
}
const ofMember = async (place: Place) => {
  const { body: { userBizId } = {} } = (await bankingSamples['roles.removeMember']?.(place)) ?? {}
  return { params: { workspace_id: place.workspaceId }, body: { userBizId, policyConfig: null, ...reason } }
}

const samples: Samples = {
  ...bankingSamples,
  'apiKeys.deleteAny': ofBody('apiKeys.delete', 'apiKeyBizId', 'api_key_id', reason),
  'apiKeys.disableAny': ofBody('apiKeys.disable', 'apiKeyBizId', 'api_key_id', reason),
  'apiKeys.enableAny': async (place) => {
    const sample = await ofBody('apiKeys.disable', 'apiKeyBizId', 'api_key_id', reason)(place)
    await place.run(disableAnyApiKey, sample)
    return sample
  },
  'apiKeys.createForOperators': async () => ({ body: operatorKey() }),
  'apiKeys.deleteOfOperators': operatorKeyIn,
  'operators.freezeWorkspace': ({ workspaceId }) => ({ params: { workspace_id: workspaceId }, body: reason }),
  'operators.suspendAccount': ofBody('roles.removeMember', 'userBizId', 'account_id', reason),
  'operators.terminateAccountSessions': ofBody('roles.removeMember', 'userBizId', 'account_id'),
  'operators.unfreezeWorkspace': async ({ run, workspaceId }) => {
    const sample = { params: { workspace_id: workspaceId }, body: reason }
    await run(freezeWorkspace, sample)
    return sample
  },
  'wallets.freeze': ofWallet,
  'wallets.unfreeze': ofFrozenWallet,
  'withdrawalChannels.reject': ofChannel,
  'withdrawalChannels.reveal': ofChannel,
  'withdrawalChannels.verify': ofChannel,
  'webhooks.enableAny': async (place) => {
    const sample = (await bankingSamples['webhooks.disableAny']?.(place)) ?? {}
    await place.run(disableAnyWebhook, sample)
    return sample
  },
  'workspaces.limitMember': ofMember,
}

const routes = bankingDomains
  .flatMap(({ operations }) => routesIn(operations))
  .filter(({ chainId, operation }) => {
    const { method, body, reply } = operation
    const isJson = (typeof body !== 'string' || body === 'none') && reply !== 'stream' && !isPassThrough(operation)
    return chainId !== 'api' && method !== 'GET' && isJson && !commandsWithoutTransaction.includes(operation.id)
  })

const refuse: Hook = async ({ userAgent, requestId, operationId }, { tx }) => {
  await sql`INSERT INTO guard_runs VALUES (${requestId}, ${operationId})`.execute(tx)
  if (userAgent === 'refuse') throw new Refusal('GUARD.REFUSED' as Code)
}

const guard = domain({
  name: 'guard',
  summary: 'Refuses commands.',
  operations: {},
  codes: { 'GUARD.REFUSED': { status: 422 } },
  locales: new URL('../harness/guard/locales/', import.meta.url),
  migrations: [sqlMigration('001-guard', ['CREATE TABLE guard_runs (request_id text, operation text)'])],
  before: Object.fromEntries(routes.map(({ operation }) => [operation.id, refuse])),
  create: () => ({ handlers: {} }),
})

describe('a hook before every command of Portico', () => {
  let world: World
  let database: Awaited<ReturnType<typeof startTestGateway>>['database']
  beforeAll(async () => {
    const portico = await startTestGateway({
      domains: [...bankingDomains, guard],
      settings: {
        log: { level: 'silent' },
        access: { workspaces: { maxPerAccount: 1_000 } },
        money: { transferApprovalFrom: { USD: '1.00' } },
      },
    })
    database = portico.database
    const gateway = {
      url: portico.url,
      call: (method: string, path: string, call: Parameters<typeof send>[3]) => send(portico.url, method, path, call),
      signIn: async (email: string) => {
        const isOperator = /^(operator|checker)@/.test(email)
        const client = await (isOperator ? portico.signInOperator(email) : portico.signInConsumer(email))
        const tokens = await client.session.tokens()
        if (!tokens) throw new Error(`the sign-in of ${email} has no tokens`)
        return tokens
      },
      mailTo: portico.mailTo,
      effects: new EffectStore(portico.database),
      stop: portico.stop,
    }
    world = await World.open(gateway, samples)
  })
  afterAll(() => world?.gateway.stop())

  const inputIn = async (route: Route) => {
    const place = await world.openPlace()
    const input = await (needsSample(route.operation) ? world.sampleIn(place, route) : world.validInputIn(place, route))
    return { input, headers: world.headersFor(route, place.workspaceId) }
  }
  /** Background work can add rows meanwhile. */
  const addedBy = async (request: () => Promise<unknown>): Promise<string[]> => {
    for (let attempt = 1; ; attempt++) {
      const before = await world.effects.readEffects()
      await request()
      const added = addedRows(before, await world.effects.readEffects())
      if (added.length === 0 || attempt === 3) return added
    }
  }

  test.each(routes.filter(({ operation }) => !withoutSample.includes(operation.id)))(
    '$name 422: a refusal of the hook leaves nothing, and otherwise it runs once',
    async (route) => {
      const { input, headers } = await inputIn(route)
      const refused = async () => {
        const reply = await world.send(route, { ...headers, 'user-agent': 'refuse' }, input)
        expect([reply.status, JSON.parse(reply.text).code], reply.text).toEqual([422, 'GUARD.REFUSED'])
      }
      expect(await addedBy(refused)).toEqual([])
      const requestId = crypto.randomUUID()
      const done = await world.send(route, { ...headers, 'x-request-id': requestId }, input)
      expect(done.status, done.text).toBe(200)
      const { rows } = await sql`SELECT operation FROM guard_runs WHERE request_id = ${requestId}`.execute(database)
      expect(rows).toEqual([{ operation: route.operation.id }])
    },
  )
})
