import { Client } from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { unknownId } from '../../harness/catalogue.ts'
import { inTopology, needsStore } from '../../harness/needs.ts'
import { signIn } from '../../harness/sign-in.ts'
import { codeOf, invalid, notFound } from '../money-world.ts'
import { type RechargesWorld, startRechargesWorld } from '../recharges-world.ts'

function proofOf(id: string) {
  return `/recharges/${id}/proof/download`
}

describe('proofs of recharges', needsStore(), () => {
  let world: RechargesWorld
  beforeAll(async () => {
    world = await startRechargesWorld()
  })
  afterAll(() => world?.portico.stop())

  test('recharges.downloadProof 200, 206, 416: an attachment for the operator; one audit entry per download', async () => {
    const { portico, data, system, createProved, operator } = world
    const { bizId, workspaceBizId, proofFileBizId } = await createProved()
    const { sha256, sizeBytes } = await data(world.web('GET', `/files/${proofFileBizId}`))
    const whole = await system('GET', proofOf(bizId))
    expect([whole.status, whole.text.slice(0, 8)]).toEqual([200, '%PDF-1.7'])
    expect(Object.fromEntries(whole.headers)).toMatchObject({
      'content-type': 'application/pdf',
      'content-length': `${sizeBytes}`,
      'content-disposition': expect.stringMatching(/^attachment; filename="receipt.pdf"/),
      'x-content-type-options': 'nosniff',
      etag: `"${sha256}"`,
    })
    const ranged = (range: string) =>
      portico.call('GET', `/web/v1/system${proofOf(bizId)}`, { token: operator.accessToken, headers: { range } })
    const part = await ranged('bytes=0-3')
    expect([part.status, part.text]).toEqual([206, '%PDF'])
    expect((await ranged('bytes=99999-')).status).toBe(416)
    const entry = { workspaceBizId, targetBizId: bizId, outcome: { code: 'SUCCESS' } }
    const { items } = await data(system('GET', `/audit-log?action=recharges.downloadProof&targetId=${bizId}`))
    expect(items).toMatchObject([entry, entry, entry])
  })

  test('recharges.proof 400 for a file type that proofs cannot have, for any purpose', async () => {
    const { data, create, upload, web } = world
    const { bizId } = await create()
    const table = { content: Buffer.from('=1+1,2\n'), fileName: 'receipt.csv', type: 'text/csv' }
    const fileBizId = await upload({ purpose: 'DOCUMENT', ...table })
    expect(codeOf(await web('POST', `/recharges/${bizId}/proof`, { fileBizId }))).toEqual(invalid)
    await data(web('POST', `/recharges/${bizId}/proof`, { fileBizId: await upload({ purpose: 'DOCUMENT' }) }))
  })

  test('files.delete 409 STATE.CONFLICT: the proof of a recharge', async () => {
    const { web, createProved } = world
    const { proofFileBizId } = await createProved()
    expect(codeOf(await web('POST', `/files/${proofFileBizId}/delete`))).toEqual([409, 'STATE.CONFLICT'])
    expect((await web('GET', `/files/${proofFileBizId}`)).status).toBe(200)
  })

  test('recharges.downloadProof 200 for HEAD: the same headers and no audit entry', async () => {
    const { data, system, createProved } = world
    const { bizId } = await createProved()
    const { status, headers, text } = await system('HEAD', proofOf(bizId))
    expect([status, headers.get('content-type'), text]).toEqual([200, 'application/pdf', ''])
    const { items } = await data(system('GET', `/audit-log?action=recharges.downloadProof&targetId=${bizId}`))
    expect(items).toEqual([])
  })

  test("recharges.downloadProof 404: no proof, unknown, malformed, deleted; 401 for a consumer's token", async () => {
    const { portico, data, web, system, upload, create, owner } = world
    const unproved = (await create()).bizId
    for (const id of [unproved, unknownId, 'x']) expect(codeOf(await system('GET', proofOf(id)))).toEqual(notFound)
    const { bizId: play } = await data(web('POST', '/workspaces', { workspaceName: 'Play', workspaceKind: 'SANDBOX' }))
    const there = { workspace: play }
    const [{ bizId: walletBizId }] = await data(web('GET', '/wallets', undefined, there))
    const body = { walletBizId, channelCode: 'BANK_USD', amount: '10.00' }
    const { bizId } = await data(web('POST', '/recharges', body, there))
    await data(web('POST', `/recharges/${bizId}/proof`, { fileBizId: await upload({ where: play }) }, there))
    const path = `/web/v1/system${proofOf(bizId)}`
    expect((await system('GET', proofOf(bizId))).status).toBe(200)
    expect(codeOf(await portico.call('GET', path))).toEqual([401, 'ACCESS.TOKEN_MISSING'])
    const customer = await portico.call('GET', path, { token: owner.accessToken })
    expect(codeOf(customer)).toEqual([401, 'ACCESS.TOKEN_INVALID'])
    await data(web('POST', '/sandbox/reset', undefined, there))
    expect(codeOf(await system('GET', proofOf(bizId)))).toEqual(notFound)
  })

  test(
    'recharges.downloadProof 403: permission to read recharges without permission to decide',
    inTopology('distributed'),
    async () => {
      const { portico, createProved } = world
      const client = new Client({ connectionString: portico.databaseUrl })
      await client.connect()
      await client.query(
        `UPDATE accounts SET operator_permissions = '{recharge:read}' WHERE email_canonical = 'checker@demo.test'`,
      )
      await client.end()
      const { accessToken: token } = await signIn(portico, 'checker@demo.test')
      const { bizId } = await createProved()
      const request = (path: string) => portico.call('GET', `/web/v1/system${path}`, { token })
      expect((await request(`/recharges/${bizId}`)).status).toBe(200)
      expect(codeOf(await request(proofOf(bizId)))).toEqual([403, 'ACCESS.PERMISSION_DENIED'])
    },
  )
})
