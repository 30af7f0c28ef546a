/* Tests of the loans domain with the testing kit: `npx vitest run`. */
import { bankingDomains } from 'portico'
import { promises, startPortico, type TestPortico } from 'portico/testing'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import * as contract from './contract.ts'
import loans from './index.ts'

const settings = { domains: { loans: { maxAmount: '5000.00' } } }
const workspaceId = '01990000-0000-7000-8000-000000000002'

promises([loans], { describe, test, beforeAll, afterAll, expect }, settings)

describe('loans', () => {
  let portico: TestPortico<[typeof contract]>
  beforeAll(async () => {
    portico = await startPortico({ domains: [...bankingDomains, loans], settings, contract: [contract] })
  })
  afterAll(() => portico?.stop())

  test('loans.approve 200: pays the loan out and mails the owner', async () => {
    const owner = await portico.signInConsumer('owner@demo.test')
    const operator = await portico.signInOperator('operator@demo.test')
    const loan = await owner.applyForLoan({ workspaceId, body: { amount: '250.00', currency: 'USD' } })
    const approved = await operator.approveLoan({ params: { loan_id: loan.bizId } })
    expect(approved.loanStatus.code).toBe('PAID_OUT')
    expect((await portico.mailTo('owner@demo.test', /250\.00 USD/)).subject).toBe('Your loan was paid out')
  })

  test('loans.apply 422 LOAN.NOT_ELIGIBLE: above the maximum', async () => {
    const owner = await portico.signInConsumer('owner@demo.test')
    const applied = owner.applyForLoan({ workspaceId, body: { amount: '5000.01', currency: 'USD' } })
    await expect(applied).rejects.toMatchObject({ code: 'LOAN.NOT_ELIGIBLE' })
  })
})
