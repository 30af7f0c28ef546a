/* Tests of the loans domain with the testing kit: `npx vitest run`. */
import { bankingDomains } from 'portico'
import { promises, startPortico, type TestPortico } from 'portico/testing'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import * as contract from './contract.ts'
import loans from './index.ts'
import { samples, settings } from './samples.ts'

const workspaceId = '01990000-0000-7000-8000-000000000002'

promises([loans], { describe, test, beforeAll, afterAll, expect }, { settings, samples })

describe('loans', () => {
  let portico: TestPortico<[typeof contract]>
  beforeAll(async () => {
    const lending = { ...settings.domains.loans, capital: { USD: '1000.00' } }
    const domains = [...bankingDomains, loans]
    portico = await startPortico({ domains, settings: { domains: { loans: lending } }, contract: [contract] })
  })
  afterAll(() => portico?.stop())

  /** Applies for a loan and pays it out. */
  const payOut = async (amount: string) => {
    const owner = await portico.signInConsumer('owner@demo.test')
    const operator = await portico.signInOperator('operator@demo.test')
    const { bizId } = await owner.applyForLoan({ workspaceId, body: { amount, currency: 'USD' } })
    const loan = await operator.approveLoan({ params: { loan_id: bizId } })
    const repay = (part: string) => owner.repayLoan({ workspaceId, params: { loan_id: bizId }, body: { amount: part } })
    return { loan, repay }
  }

  test('loans.approve 200: pays the loan out and mails the owner', async () => {
    const { loan } = await payOut('250.00')
    expect(loan.loanStatus.code).toBe('PAID_OUT')
    expect((await portico.mailTo('owner@demo.test', /250\.00 USD/)).subject).toBe('Your loan was paid out')
  })

  test('loans.approve 422 LOAN.NOT_AVAILABLE: the capital is insufficient', async () => {
    await expect(payOut('1000.01')).rejects.toMatchObject({ code: 'LOAN.NOT_AVAILABLE' })
  })

  test('loans.approve 403 ACCESS.PERMISSION_DENIED: a person with accounts on both portals decides on no own loan', async () => {
    const { consumer, operator } = await portico.signInPerson('checker@demo.test')
    const [own] = await consumer.listMyWorkspaces()
    const body = { amount: '250.00', currency: 'USD' }
    const { bizId } = await consumer.applyForLoan({ workspaceId: own?.workspaceBizId ?? '', body })
    const approved = operator.approveLoan({ params: { loan_id: bizId } })
    await expect(approved).rejects.toMatchObject({ code: 'ACCESS.PERMISSION_DENIED' })
  })

  test('loans.repay 200: in parts, until the loan is REPAID', async () => {
    const { repay } = await payOut('100.00')
    expect(await repay('30.00')).toMatchObject({ repaidAmount: '30.00', loanStatus: { code: 'PAID_OUT' } })
    expect(await repay('70.00')).toMatchObject({ repaidAmount: '100.00', loanStatus: { code: 'REPAID' } })
    await expect(repay('0.01')).rejects.toMatchObject({ code: 'STATE.CONFLICT' })
  })

  test('loans.repay 422 LOAN.OVERPAID: parallel repayments never exceed the loan', async () => {
    const { repay } = await payOut('100.00')
    const results = await Promise.allSettled([repay('60.00'), repay('60.00')])
    expect(results.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
    const refusal = results.find((result) => result.status === 'rejected')
    expect(refusal?.reason).toMatchObject({ code: 'LOAN.OVERPAID' })
  })

  test('loans.apply 422 LOAN.NOT_ELIGIBLE: above the maximum', async () => {
    const owner = await portico.signInConsumer('owner@demo.test')
    const applied = owner.applyForLoan({ workspaceId, body: { amount: '5000.01', currency: 'USD' } })
    await expect(applied).rejects.toMatchObject({ code: 'LOAN.NOT_ELIGIBLE' })
  })

  test('loans.expire: a loan that nobody approves for 30 days expires', async () => {
    const owner = await portico.signInConsumer('owner@demo.test')
    const { bizId } = await owner.applyForLoan({ workspaceId, body: { amount: '1.00', currency: 'USD' } })
    portico.clock.advance(30 * 24 * 3_600_000)
    await portico.runJob('loans.expire')
    const later = await portico.signInConsumer('owner@demo.test')
    const loan = (await later.listLoans({ workspaceId })).find((each) => each.bizId === bizId)
    expect(loan?.loanStatus.code).toBe('EXPIRED')
  })
})
