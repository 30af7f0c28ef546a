import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Client } from '../../src/client/index.ts'
import { developmentIds } from '../../src/seed/development.ts'
import { clientOf, signInAs } from '../harness/client.ts'
import { type Portico, startPortico } from '../harness/portico.ts'
import { type Session, signIn } from '../harness/sign-in.ts'

describe('X-Portico-Fields', () => {
  let portico: Portico
  let session: Session
  let owner: Client<'CONSUMER'>
  const { workspace, mainUsd } = developmentIds

  beforeAll(async () => {
    portico = await startPortico()
    session = await signIn(portico)
    owner = clientOf(portico, 'CONSUMER')
    await signInAs(portico, owner, 'owner@demo.test')
  })
  afterAll(() => portico?.stop())

  const transfer = async (body: object, query = '') => {
    const path = `/web/v1/consumer/transfer/command/create${query}`
    const headers = { 'x-workspace-id': workspace }
    return portico.call('POST', path, { body, headers, token: session.accessToken })
  }
  const fieldsOf = ({ headers }: { headers: Headers }) => headers.get('x-portico-fields')

  test('transfers.create 400 VALIDATION.INVALID_PARAMETER: every invalid field with its reason', async () => {
    const response = await transfer({
      sourceWalletBizId: mainUsd,
      amount: '0',
      currency: 'USD',
      targetWallet: 'x',
      '0': 1,
    })
    expect([response.status, response.body.code]).toEqual([400, 'VALIDATION.INVALID_PARAMETER'])
    const fields = (fieldsOf(response) ?? '').split(', ').toSorted()
    expect(fields).toEqual([
      '"0";reason=unknown',
      'amount;reason=too_small',
      'targetWallet;reason=unknown',
      'targetWalletBizId;reason=missing',
    ])
    expect(response.headers.get('access-control-expose-headers')).toBe('X-Portico-Fields')
    expect(Object.keys(response.body)).toEqual(['version', 'timestamp', 'success', 'code', 'message', 'data'])
  })

  test('transfers.create 400 VALIDATION.INVALID_PARAMETER: fields of the query and the body, never a value', async () => {
    const response = await transfer({ amount: 'Kennwort' }, '?odd=1')
    expect(response.body.message).toContain('odd')
    expect(fieldsOf(response)).toMatch(/^odd;reason=unknown, .*amount;reason=invalid_format/)
    expect(fieldsOf(response)).not.toContain('Kennwort')
    const named = await transfer({ [`<b>${'k'.repeat(80)}`]: 1 })
    expect(fieldsOf(named)).toContain('body;reason=unknown')
  })

  test('transfers.create 400 VALIDATION.INVALID_PARAMETER: at most 20 fields', async () => {
    const response = await transfer(Object.fromEntries(Array.from({ length: 500 }, (_, at) => [`f${at}`, at])))
    expect((fieldsOf(response) ?? '').split(', ')).toHaveLength(20)
  })

  test('transfers.create 400 VALIDATION.INVALID_PARAMETER: a sealed body hides names that the client has chosen', async () => {
    const body = { sourceWalletBizId: mainUsd, targetWalletBizId: mainUsd, amount: '0', currency: 'USD', pin: '4711' }
    const error = owner.createTransfer({ workspaceId: workspace, body, seal: true })
    await expect(error).rejects.toMatchObject({
      fields: expect.arrayContaining([
        { name: 'amount', reason: 'too_small' },
        { name: 'body', reason: 'unknown' },
      ]),
    })
    await expect(error).rejects.not.toMatchObject({
      fields: expect.arrayContaining([{ name: 'pin', reason: 'unknown' }]),
    })
  })

  test('wallets.list 200: a valid request has no such header', async () => {
    expect(fieldsOf(await portico.call('GET', '/web/v1/consumer/wallets', { token: session.accessToken }))).toBeNull()
  })
})
