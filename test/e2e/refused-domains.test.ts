import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { developmentIds } from '../../src/seed/development.ts'
import { type Portico, startPortico } from '../harness/portico.ts'
import { type Session, signIn } from '../harness/sign-in.ts'

const refused = [
  ...['a@operators.test', 'A+b@OPERATORS.test', 'a@mail.operators.test', 'a@operators.test.'],
  ...['owner@bücher.test', 'owner@xn--bcher-kva.test'],
]
const accepted = ['a@notoperators.test', 'operators.test@example.test']

describe('the mail domains that a portal refuses', () => {
  let portico: Portico
  let owner: Session

  beforeAll(async () => {
    portico = await startPortico({
      adjust: ({ portals }) => {
        portals.CONSUMER.refusedDomains = ['operators.test', 'xn--bcher-kva.test']
      },
    })
    owner = await signIn(portico)
  })
  afterAll(() => portico?.stop())

  const register = (email: string) =>
    portico.call('POST', '/web/v1/consumer/auth/register/initiate', { body: { email, turnstileToken: 'x' } })
  const invite = async (email: string) => {
    const call = { token: owner.accessToken, workspace: developmentIds.workspace }
    const path = '/web/v1/consumer/invitations'
    return portico.call('POST', path, { ...call, body: { email, roleBizId: developmentIds.memberRole } })
  }

  test.each(refused)('registration.initiate, invitations.create 400: %s', async (email) => {
    for (const answer of [await register(email), await invite(email)]) {
      expect([answer.status, answer.body.code]).toEqual([400, 'VALIDATION.INVALID_PARAMETER'])
      expect(answer.body.message).toContain('email')
    }
    expect(await portico.mailsTo(email.toLowerCase())).toEqual([])
  })

  test.each(accepted)('registration.initiate, invitations.create 200: %s', async (email) => {
    for (const answer of [await register(email), await invite(email)]) expect(answer.status, answer.text).toBe(200)
  })
})
