import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { developmentIds } from '../../src/seed/development.ts'
import { confirmation } from '../harness/confirmation.ts'
import type { Answer } from '../harness/http.ts'
import { pdf } from '../harness/multipart.ts'
import { assertOneSucceeds, codeOf, conflict, invalid } from './money-world.ts'
import { cancelReason, type RechargesWorld, reason, startRechargesWorld } from './recharges-world.ts'

const { workspace } = developmentIds
const card = { channelCode: 'CARD_USD' }

describe('a payment that is presented twice', () => {
  let world: RechargesWorld
  beforeAll(async () => {
    world = await startRechargesWorld()
  })
  afterAll(() => world?.portico.stop())

  const prove = (id: string, fileBizId: string, where: string = workspace) =>
    world.web('POST', `/recharges/${id}/proof`, { fileBizId }, { workspace: where })
  const confirm = (id: string, body: unknown) => world.system('POST', `/recharges/${id}/confirm`, body)
  const created = async (changed: object = {}): Promise<string> => (await world.create(changed)).bizId
  const refused = (response: Answer, field: string) => {
    expect(codeOf(response)).toEqual(conflict)
    expect(response.body.message).toContain(field)
  }
  const openSandbox = async (workspaceName: string) => {
    const { data, web } = world
    const { bizId: sandbox } = await data(web('POST', '/workspaces', { workspaceName, workspaceKind: 'SANDBOX' }))
    const there = { workspace: sandbox }
    const wallets: { bizId: string; currency: string }[] = await data(web('GET', '/wallets', undefined, there))
    const walletBizId = wallets.find(({ currency }) => currency === 'USD')?.bizId
    const order = { walletBizId, channelCode: 'CARD_USD', amount: '20.00' }
    const recharge = async (): Promise<string> => (await data(web('POST', '/recharges', order, there))).bizId
    return { sandbox, there, recharge }
  }

  test('recharges.proof 409: the same bytes for a second recharge, also from another upload and concurrently', async () => {
    const { data, upload } = world
    const content = pdf()
    const [file, copy] = [await upload({ content }), await upload({ content, fileName: 'copy.pdf' })]
    const [first, second, third] = [await created(), await created(), await created()]
    await assertOneSucceeds([prove(first, file), prove(second, copy), prove(third, file)])
    const [fourth] = [await created()]
    refused(await prove(fourth, copy), 'fileBizId')
    await data(prove(fourth, await upload()))
  })

  test('files.delete 200: a file that was refused as a proof; 409 for a proof', async () => {
    const { data, web, upload } = world
    const content = pdf()
    const [proof, copy, other] = [await upload({ content }), await upload({ content }), await upload()]
    await data(prove(await created(), proof))
    refused(await prove(await created(), copy), 'fileBizId')
    const cancelled = await created()
    await data(web('POST', `/recharges/${cancelled}/cancel`, cancelReason))
    expect(codeOf(await prove(cancelled, other))).toEqual(conflict)
    const remove = (id: string) => web('POST', `/files/${id}/delete`)
    for (const id of [copy, other]) await data(remove(id))
    expect(codeOf(await remove(proof))).toEqual(conflict)
  })

  test('recharges.proof 200: the same bytes after a rejection, in any other workspace', async () => {
    const { data, upload, system } = world
    const content = pdf()
    const file = await upload({ content })
    const first = await created()
    await data(prove(first, file))
    await data(system('POST', `/recharges/${first}/reject`, reason))
    await data(prove(await created(), file))
    const { sandbox, recharge } = await openSandbox('Elsewhere')
    await data(prove(await recharge(), await upload({ content, where: sandbox }), sandbox))
  })

  test('recharges.readAny, listAll 200: operators see the other uses of the same bytes; owners do not', async () => {
    const { data, web, upload, system } = world
    const content = pdf()
    const first = await created()
    const read = (id: string) => data(system('GET', `/recharges/${id}`))
    expect((await read(first)).proofUsedBefore).toBeUndefined()
    await data(prove(first, await upload({ content })))
    expect((await read(first)).proofUsedBefore).toEqual([])
    const { sandbox, recharge } = await openSandbox('Seen')
    const other = await recharge()
    await data(prove(other, await upload({ content, where: sandbox }), sandbox))
    const use = { rechargeBizId: first, workspaceBizId: workspace, createdAt: expect.any(String) }
    expect((await read(other)).proofUsedBefore).toEqual([use])
    const { items } = await data(system('GET', `/recharges?workspaceId=${workspace}&rechargeStatus=PROOF_SUBMITTED`))
    const listed = items.find(({ bizId }: { bizId: string }) => bizId === first)
    expect(listed.proofUsedBefore).toMatchObject([{ rechargeBizId: other, workspaceBizId: sandbox }])
    expect(await read(first)).toEqual(listed)
    expect((await data(web('GET', `/recharges/${first}`))).proofUsedBefore).toBeUndefined()
  })

  test('recharges.confirm 400 without an external reference, or with one without letters and digits', async () => {
    const id = await created(card)
    for (const externalReference of [undefined, ' ', '-', ' . / ', '\u00a0']) {
      const body = { externalReference }
      const response = await confirm(id, body)
      expect(codeOf(response)).toEqual(invalid)
      expect(response.body.message).toContain('externalReference')
    }
    const none = await world.portico.call('POST', `/web/v1/system/recharges/${id}/confirm`, {
      token: world.operator.accessToken,
      headers: { 'x-request-id': randomUUID() },
    })
    expect(codeOf(none)).toEqual(invalid)
  })

  test('recharges.confirm 409: a reference that confirmed a recharge of the channel, in any spelling', async () => {
    const { data, balanceChange } = world
    const [first, second] = [await created(card), await created(card)]
    expect(await data(confirm(first, confirmation('Sepa 2026-17')))).toMatchObject({
      externalReference: 'Sepa 2026-17',
    })
    const change = await balanceChange(async () => {
      const spellings = ['Sepa 2026-17', 'SEPA2026-17', ' sepa  2026-17', 'Sepa\u00a02026-17', 'SEPA\u202f2026\u201117']
      for (const text of [...spellings, 'sepa/2026/17', 'ＳＥＰＡ　２０２６－１７', 'SEPA202617'])
        refused(await confirm(second, confirmation(text)), 'externalReference')
    })
    expect(change).toBe(0)
    const eur = { walletBizId: developmentIds.mainEur, channelCode: 'CARD_EUR' }
    await data(confirm(await created(eur), confirmation('Sepa 2026-17')))
    await data(confirm(second, confirmation('Sepa 2026-18')))
  })

  test('recharges.confirm: of concurrent confirmations with one reference exactly one takes effect', async () => {
    const orders = await Promise.all(Array.from({ length: 5 }, () => created({ ...card, amount: '10.00' })))
    const change = await world.balanceChange(() =>
      assertOneSucceeds(orders.map((id) => confirm(id, confirmation('RACE-1')))),
    )
    expect(change).toBeGreaterThan(9)
    expect(change).toBeLessThan(10)
  })

  test('recharges.confirm 200 in a SANDBOX: its own references, which its reset frees', async () => {
    const { data, web } = world
    const { there, recharge } = await openSandbox('Trial')
    const reference = confirmation()
    await data(confirm(await recharge(), reference))
    refused(await confirm(await recharge(), reference), 'externalReference')
    await data(web('POST', '/sandbox/reset', undefined, there))
    await data(confirm(await recharge(), reference))
    await data(confirm(await created(card), reference))
  })
})
