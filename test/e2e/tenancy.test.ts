import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { domainOf, pathParamNames } from '../../src/kernel/index.ts'
import { developmentIds } from '../../src/seed/development.ts'
import { type Route, routes, unknownId } from '../harness/catalogue.ts'
import type { Answer } from '../harness/http.ts'
import { encodeMultipart } from '../harness/multipart.ts'
import { signIn } from '../harness/sign-in.ts'
import { storeIsAvailable } from '../harness/store.ts'
import { type AccessWorld, startAccessWorld } from './access-world.ts'
import { notImplemented } from './not-implemented.ts'

/** An entity of another workspace, by the domain that serves it and the name of the path parameter. */
type Foreign = Record<string, string>

/** Returns a pending withdrawal to a channel that an operator has verified. */
const withdrawalFrom = async (world: AccessWorld, workspace: string, walletBizId: string): Promise<string> => {
  const { owner, data, portico } = world
  const account = { channelType: 'BANK', currency: 'USD', country: 'DE', accountNumber: 'DE8937040044', bankCode: 'X' }
  const { bizId: withdrawalChannelBizId } = await data(owner, 'POST', '/withdrawal-channels', {
    workspace,
    body: { ...account, accountHolderName: 'Neighbour' },
  })
  const { accessToken: token } = await signIn(portico, 'operator@demo.test')
  await portico.call('POST', `/web/v1/system/withdrawal-channels/${withdrawalChannelBizId}/verify`, { token })
  const body = { walletBizId, withdrawalChannelBizId, amount: '10.00' }
  return (await data(owner, 'POST', '/withdrawals', { workspace, body })).bizId
}

const fileIn = async ({ owner, data }: AccessWorld, workspace: string): Promise<string> => {
  const form = encodeMultipart([
    { name: 'purpose', content: 'DOCUMENT' },
    { name: 'file', content: 'a note', fileName: 'note.txt', type: 'text/plain' },
  ])
  return (await data(owner, 'POST', '/files/upload', { workspace, ...form })).bizId
}

/** Fills a workspace that the caller does not belong to with one entity of every kind. Add new kinds of ids here. */
const fillWorkspace = async (world: AccessWorld): Promise<Foreign> => {
  const { owner, data } = world
  const workspace = await world.workspace(owner, 'Next door', 'SANDBOX')
  const other = await world.workspace(owner, 'Across the street', 'SANDBOX')
  const walletIn = async (id: string): Promise<string> =>
    (await data(owner, 'GET', '/wallets', { workspace: id }))[0].bizId
  const wallet = await walletIn(workspace)
  const { bizId: transfer } = await data(owner, 'POST', '/transfer/command/create', {
    workspace,
    headers: { 'x-request-id': randomUUID() },
    body: { sourceWalletBizId: wallet, targetWalletBizId: await walletIn(other), amount: '1.00', currency: 'USD' },
  })
  const { bizId: recharge } = await data(owner, 'POST', '/recharges', {
    workspace,
    body: { walletBizId: wallet, channelCode: 'BANK_USD', amount: '10.00' },
  })
  const { quoteBizId } = await data(owner, 'POST', '/exchanges/quote', {
    workspace,
    body: { sourceCurrency: 'USD', targetCurrency: 'EUR', amount: '10.00', fixedSide: 'SOURCE' },
  })
  const { bizId: exchange } = await data(owner, 'POST', '/exchanges', { workspace, body: { quoteBizId } })
  const { bizId: exported } = await data(owner, 'POST', '/exports', {
    workspace,
    body: { exportType: 'FLOWS', format: 'CSV' },
  })
  const { bizId: role } = await data(owner, 'POST', '/roles', {
    workspace,
    body: { roleName: 'Neighbour', permissionCodes: [] },
  })
  const { bizId: apiKey } = await data(owner, 'POST', '/api-keys', {
    workspace,
    body: { apiKeyName: 'Neighbour', permissionCodes: ['wallet:read'] },
  })
  return {
    'wallets wallet_id': wallet,
    'transfers wallet_id': wallet,
    'transfers order_id': transfer,
    'recharges recharge_id': recharge,
    'withdrawals withdrawal_id': await withdrawalFrom(world, workspace, wallet),
    'exchanges exchange_id': exchange,
    'exchanges quote_id': quoteBizId,
    'exports export_id': exported,
    'files file_id': await fileIn(world, workspace),
    'roles role_id': role,
    'apiKeys api_key_id': apiKey,
  }
}

/** Returns the required bodies of commands. A file in a body is the caller's own, so that only the path is foreign. */
const bodiesOf = (ownFile: string): Record<string, object> => ({
  'recharges.cancel': { cancelReason: 'never mind' },
  'recharges.proof': { fileBizId: ownFile },
})

const tenantRoutes = routes.filter(
  ({ operation: { id, path, policy }, chainId }) =>
    policy.workspace !== 'none' &&
    pathParamNames(path).length > 0 &&
    chainId !== 'system' &&
    !notImplemented.includes(id),
)

/** Returns everything that distinguishes two responses, except the time. */
const bytes = ({ status, headers, text }: Answer) => ({
  status,
  text: text.replace(/"timestamp":\d+/, ''),
  type: headers.get('content-type'),
  length: headers.get('content-length'),
})

describe.skipIf(!storeIsAvailable())('another workspace’s id', () => {
  let world: AccessWorld
  let foreign: Foreign
  let bodies: Record<string, object>
  let key: string
  beforeAll(async () => {
    world = await startAccessWorld()
    foreign = await fillWorkspace(world)
    bodies = bodiesOf(await fileIn(world, developmentIds.workspace))
    const body = { apiKeyName: 'Machine', permissionCodes: ['wallet:read', 'transfer:read', 'transfer:create'] }
    key = (await world.data(world.owner, 'POST', '/api-keys', { workspace: developmentIds.workspace, body })).secret
  })
  afterAll(() => world?.portico.stop())

  const request = ({ method, path, chainId, operation }: Route) => {
    const body = method === 'POST' ? { body: bodies[operation.id] ?? {} } : {}
    return chainId === 'api'
      ? world.portico.call(method, path, { headers: { authorization: `Bearer ${key}` }, ...body })
      : world.portico.call(method, path, {
          token: world.owner.accessToken,
          workspace: developmentIds.workspace,
          ...body,
        })
  }

  test('the contract has tenant routes', () => expect(tenantRoutes.length).toBeGreaterThan(10))

  test.each(tenantRoutes)('$name: same response as for an unknown id', async (route) => {
    const [name = ''] = pathParamNames(route.operation.path)
    const id = foreign[`${domainOf(route.operation.id)} ${name}`]
    if (!id) throw new Error(`furnish() puts nothing into the other workspace for ${route.operation.id}`)
    const unknown = await request(route)
    const theirs = await request({ ...route, path: route.path.replace(unknownId, id) })
    expect(bytes(theirs)).toEqual(bytes(unknown))
    expect(theirs.text).not.toContain(id)
    // If a request is rejected because of its body, its id has not been looked up.
    expect([200, 404]).toContain(theirs.status)
  })
})
