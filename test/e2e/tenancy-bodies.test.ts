import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ZodObject } from 'zod'
import { pathParamNames } from '../../src/kernel/index.ts'
import { routes, unknownId } from '../harness/catalogue.ts'
import type { Answer } from '../harness/http.ts'
import { newcomer } from '../harness/identity.ts'
import { encodeMultipart } from '../harness/multipart.ts'
import { payoutAccount } from '../harness/payout-account.ts'
import { signIn } from '../harness/sign-in.ts'
import { storeIsAvailable } from '../harness/store.ts'
import { type AccessWorld, startAccessWorld } from './access-world.ts'

/** Every id in the body of a member's command: the operation and the field. */
const named = routes.flatMap(({ chainId, operation }) => {
  const { body, policy } = operation
  if (chainId !== 'consumer' || policy.workspace === 'none' || !(body instanceof ZodObject)) return []
  const fields = Object.keys(body.shape).filter((field) => field.endsWith('BizId'))
  return fields.map((field) => ({ name: `${operation.id} ${field}`, operation }))
})

/** Money can go to another workspace's wallet. */
const crossWorkspace = ['transfers.create targetWalletBizId']

const inWorkspace = async ({ portico, owner, data, workspace: make }: AccessWorld, name: string) => {
  const workspace = await make(owner, name, 'SANDBOX')
  const post = (path: string, body: object) => data(owner, 'POST', path, { workspace, body })
  const idOf = async (path: string, body: object): Promise<string> => (await post(path, body)).bizId
  const [{ bizId: wallet }] = await data(owner, 'GET', '/wallets', { workspace })
  const role = await idOf('/roles', { roleName: 'Neighbour', permissionCodes: [] })
  const someone = await newcomer(portico)
  const { bizId: invitationBizId } = await post('/invitations', { email: someone.email, roleBizId: role })
  await someone.by.post('/profile/invitations/accept', { invitationBizId }, someone.token)
  const keyed = (apiKeyName: string) => idOf('/api-keys', { apiKeyName, permissionCodes: ['wallet:read'] })
  const asleep = await keyed('Asleep')
  await post('/api-keys/disable', { apiKeyBizId: asleep })
  const channel = await idOf('/withdrawal-channels', payoutAccount())
  const { accessToken: token } = await signIn(portico, 'operator@demo.test')
  await portico.call('POST', `/web/v1/system/withdrawal-channels/${channel}/verify`, { token })
  const form = encodeMultipart([
    { name: 'purpose', content: 'DOCUMENT' },
    { name: 'file', content: 'a note', fileName: 'note.txt', type: 'text/plain' },
  ])
  const quoted = { sourceCurrency: 'USD', targetCurrency: 'EUR', amount: '10.00', fixedSide: 'SOURCE' }
  return {
    workspace,
    wallet,
    role,
    member: someone.accountId,
    invitation: await idOf('/invitations', { email: `${randomUUID()}@people.test`, roleBizId: role }),
    keys: [await keyed('Awake'), await keyed('Awake too')],
    asleep,
    channel,
    file: (await data(owner, 'POST', '/files/upload', { workspace, ...form })).bizId,
    recharge: await idOf('/recharges', { walletBizId: wallet, channelCode: 'BANK_USD', amount: '10.00' }),
    quote: (await post('/exchanges/quote', quoted)).quoteBizId,
  }
}
type Place = Awaited<ReturnType<typeof inWorkspace>>

/** Builds a request with a local or a foreign id. Its other ids are local. Add new kinds of ids here. */
const requestsBy: Record<string, (from: Place, here: Place, across: string) => object> = {
  'apiKeys.delete apiKeyBizId': ({ keys }) => ({ apiKeyBizId: keys[0] }),
  'apiKeys.disable apiKeyBizId': ({ keys }) => ({ apiKeyBizId: keys[1] }),
  'apiKeys.enable apiKeyBizId': ({ asleep }) => ({ apiKeyBizId: asleep }),
  'exchanges.create quoteBizId': ({ quote }) => ({ quoteBizId: quote }),
  'invitations.cancel invitationBizId': ({ invitation }) => ({ invitationBizId: invitation }),
  'invitations.create roleBizId': ({ role }) => ({ roleBizId: role, email: 'guest@people.test' }),
  'recharges.create walletBizId': ({ wallet }) => ({ walletBizId: wallet, channelCode: 'BANK_USD', amount: '10.00' }),
  'recharges.proof fileBizId': ({ file }) => ({ fileBizId: file }),
  'recharges.quote walletBizId': ({ wallet }) => ({ walletBizId: wallet, channelCode: 'BANK_USD', amount: '10.00' }),
  'roles.changeMember roleBizId': ({ role }, { member }) => ({ userBizId: member, roleBizId: role }),
  'roles.changeMember userBizId': ({ member }, { role }) => ({ userBizId: member, roleBizId: role }),
  'roles.delete roleBizId': ({ role }) => ({ roleBizId: role }),
  'roles.setPermissions roleBizId': ({ role }) => ({ roleBizId: role, permissionCodes: [] }),
  'roles.update roleBizId': ({ role }) => ({ roleBizId: role, description: 'theirs' }),
  'transfers.create sourceWalletBizId': ({ wallet }, _here, across) => ({
    sourceWalletBizId: wallet,
    targetWalletBizId: across,
    amount: '1.00',
    currency: 'USD',
  }),
  'withdrawals.create walletBizId': ({ wallet }, { channel }) => ({
    walletBizId: wallet,
    withdrawalChannelBizId: channel,
    amount: '20.00',
  }),
  'withdrawals.create withdrawalChannelBizId': ({ channel }, { wallet }) => ({
    walletBizId: wallet,
    withdrawalChannelBizId: channel,
    amount: '20.00',
  }),
}

/** Returns everything that distinguishes two responses, except the time. */
const bytes = ({ status, headers, text }: Answer) => [
  status,
  text.replace(/"timestamp":\d+/, ''),
  headers.get('content-length'),
]

describe.skipIf(!storeIsAvailable())('another workspace’s id in a body', () => {
  let world: AccessWorld
  let here: Place
  let foreign: Place
  let across: string
  beforeAll(async () => {
    world = await startAccessWorld()
    here = await inWorkspace(world, 'Here')
    foreign = await inWorkspace(world, 'Next door')
    const workspace = await world.workspace(world.owner, 'Across the street', 'SANDBOX')
    across = (await world.data(world.owner, 'GET', '/wallets', { workspace }))[0].bizId
  })
  afterAll(() => world?.portico.stop())

  test.each(named.filter(({ name }) => !crossWorkspace.includes(name)))(
    '$name: same response as for an unknown id',
    async (each) => {
      const build = requestsBy[each.name]
      if (!build) throw new Error(`no request for ${each.name}`)
      const path = each.operation.path.replace('{recharge_id}', here.recharge)
      expect(pathParamNames(path)).toEqual([])
      const request = (body: object) => world.call(world.owner, 'POST', path, { workspace: here.workspace, body })
      const field = each.name.split(' ')[1] ?? ''
      const body = build(foreign, here, across)
      const unknown = await request({ ...body, [field]: unknownId })
      const theirs = await request(body)
      expect(bytes(theirs)).toEqual(bytes(unknown))
      expect(theirs.status).toBe(404)
      // The foreign id is the only reason for the refusal.
      expect((await request(build(here, here, across))).status).not.toBe(404)
    },
  )
})
