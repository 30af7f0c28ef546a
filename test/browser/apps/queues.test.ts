import { randomUUID } from 'node:crypto'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { developmentIds } from '../../../src/seed/development.ts'
import { encodeMultipart } from '../../harness/multipart.ts'
import { needs } from '../../harness/needs.ts'
import { payoutAccount } from '../../harness/payout-account.ts'
import { codeIn, type Session, signIn } from '../../harness/sign-in.ts'
import { chromiumPath } from '../chromium.ts'
import { restrictChecker } from './auditor.ts'
import { type AppWorld, inspect, startAppWorld, type Visitor } from './world.ts'

const { workspace, mainUsd, savingsUsd } = developmentIds

describe('the queues of operators in Chromium', needs(chromiumPath, 'Chromium is not installed'), () => {
  let world: AppWorld
  let owner: Session
  let member: Session
  /** Without a browser. */
  let assistant: Session
  let operator: Visitor
  let checker: Visitor

  const post = async (token: string, path: string, body: object, headers: Record<string, string> = {}) => {
    const call = { token, workspace, body, headers: { 'x-request-id': randomUUID(), ...headers } }
    const answer = await world.portico.call('POST', `/web/v1/consumer${path}`, call)
    expect(answer.status, answer.text).toBe(200)
    return answer.body.data
  }
  const system = async (method: string, path: string, body?: object) => {
    const call = { token: assistant.accessToken, headers: { 'x-request-id': randomUUID() }, ...(body && { body }) }
    const answer = await world.portico.call(method, `/web/v1/system${path}`, call)
    expect(answer.status, answer.text).toBe(200)
    return answer.body.data
  }
  /** Creates an account of the CONSUMER portal. Returns its access token. */
  const register = async (email: string): Promise<string> => {
    const start = async (path: string, body: object) => post('', `/auth/${path}`, body)
    const { sessionId } = await start('register/initiate', { email, turnstileToken: 'x' })
    const { text } = await world.portico.mailTo(email, 'registration-code')
    await start('register/verify-email', { sessionId, code: codeIn(text) })
    const { passwordInitToken } = await start('register/complete', { sessionId, accountName: 'Olivia' })
    const newPassword = 'a-rather-long-passphrase-2026'
    await start('password/init', { token: passwordInitToken, newPassword })
    return (await signIn(world.portico, email, {}, newPassword, 'consumer')).accessToken
  }
  const idOf = async (accountEmail: string): Promise<string> =>
    (await system('GET', `/accounts?${new URLSearchParams({ accountEmail })}`)).items[0].bizId
  const requestPayout = (account: string, amount: string) =>
    post(owner.accessToken, '/withdrawals', { walletBizId: mainUsd, withdrawalChannelBizId: account, amount })
  const transfer = (amount: string) =>
    post(member.accessToken, '/transfer/command/create', {
      ...{ sourceWalletBizId: mainUsd, targetWalletBizId: savingsUsd, amount, currency: 'USD' },
      remark: 'The rent of the office',
    })
  const recharge = async (amount: string, type: 'image/png' | 'application/pdf' = 'image/png') => {
    const order = { walletBizId: mainUsd, channelCode: 'BANK_USD', amount }
    const { bizId } = await post(owner.accessToken, '/recharges', order)
    const content = await printed(operator, `<h1>Paid: ${amount} USD</h1><p>${bizId}</p>`, type)
    const { headers, body } = encodeMultipart([
      { name: 'file', fileName: `receipt of the bank.${type.slice(-3)}`, type, content },
      { name: 'purpose', content: 'RECHARGE_PROOF' },
    ])
    const file = await post(owner.accessToken, '/files/upload', body, headers)
    return post(owner.accessToken, `/recharges/${bizId}/proof`, { fileBizId: file.bizId })
  }

  beforeAll(async () => {
    world = await startAppWorld(({ money }) => {
      money.transferApprovalFrom = { USD: '500.00' }
      money.separationOfDuties = { enabled: true, from: { USD: '500.00' } }
    })
    owner = await signIn(world.portico)
    member = await signIn(world.portico, 'member@demo.test')
    assistant = await signIn(world.portico, 'operator@demo.test')
    operator = await world.signIn('console', 'operator@demo.test')
    checker = await world.signIn('console', 'checker@demo.test')
  })
  afterAll(() => world?.stop())

  test('transfers: an operator approves one, goes on to the next one, and rejects it', async () => {
    const { page } = operator
    const first = await transfer('600.00')
    const second = await transfer('700.00')
    await page.goto(`${world.url}/console/queues/transfers`)
    await page.getByRole('link', { name: second.orderNo }).waitFor()
    await inspect(operator, 'console-queues-transfers-waiting')
    await page.getByRole('link', { name: first.orderNo }).click()
    await heading(page, first.orderNo)
    await page.getByRole('radio', { name: 'Approve' }).check()
    await inspect(operator, 'console-queues-transfer')
    await page.getByRole('button', { name: 'Approve' }).click()
    await operator.confirm()
    await page.getByText(`${first.orderNo} is approved.`).waitFor()
    await page.getByText('This item needs no decision.').waitFor()
    await inspect(operator, 'console-queues-transfer-approved')
    await page.getByRole('link', { name: 'Next item' }).click()
    await heading(page, second.orderNo)
    await page.getByRole('radio', { name: 'Reject' }).check()
    await page.getByLabel('Reason').fill('not agreed')
    await page.getByRole('button', { name: 'Reject' }).click()
    await page.getByText(`${second.orderNo} is rejected.`).waitFor()
    await page.getByRole('cell', { name: 'not agreed' }).waitFor()
    await page.getByText('Nothing else is waiting.').waitFor()
  })

  test('recharges: the proof is shown next to the form that confirms the payment', async () => {
    const { page } = operator
    const { bizId, orderNo } = await recharge('120.00')
    await page.goto(`${world.url}/console/queues/recharges`)
    await page.getByRole('link', { name: orderNo }).click()
    await page.getByText('receipt of the bank.png').waitFor()
    await page.getByRole('img', { name: 'Proof of payment' }).waitFor()
    expect(await page.evaluate("document.querySelector('.queues-proof img').naturalWidth")).toBe(600)
    await page.getByRole('radio', { name: 'Confirm the payment' }).check()
    await page.getByLabel('Bank reference').fill(`SEPA ${bizId}`)
    await inspect(operator, 'console-queues-recharge')
    await page.getByRole('button', { name: 'Confirm the payment' }).click()
    await page.getByText(`${orderNo} is confirmed.`).waitFor()
    await page.getByRole('cell', { name: '-120.00 USD' }).waitFor()
  })

  test('recharges: a document is shown next to the form, too', async () => {
    const { page } = operator
    const { bizId } = await recharge('125.00', 'application/pdf')
    await page.goto(`${world.url}/console/queues/recharges/${bizId}`)
    const frame = page.getByTitle('Proof of payment')
    await frame.waitFor()
    expect(await frame.getAttribute('src')).toMatch(/^blob:/)
    await expect.poll(() => page.frames().map((each) => new URL(each.url()).protocol)).toContain('chrome-extension:')
    await page.getByRole('radio', { name: 'Confirm the payment' }).check()
    await inspect(operator, 'console-queues-recharge-document')
    await page.goto(`${world.url}/console`)
  })

  test('recharges: a used reference needs the allowance of another operator', async () => {
    const [used, again] = [await recharge('130.00'), await recharge('140.00')]
    const decide = async (who: Visitor, id: string, label: string, fields: Record<string, string>) => {
      await who.page.goto(`${world.url}/console/queues/recharges/${id}`)
      await choose(who, label, fields)
    }
    const confirm = (who: Visitor, id: string) => decide(who, id, 'Confirm the payment', { 'Bank reference': 'Rent' })
    await confirm(operator, used.bizId)
    await operator.page.getByText(`${used.orderNo} is confirmed.`).waitFor()
    await confirm(operator, again.bizId)
    await operator.page.getByRole('alert').waitFor()
    const allowance = { 'Bank reference': 'Rent', Reason: 'another flat' }
    await decide(operator, again.bizId, 'Allow a used reference', allowance)
    await operator.page.getByText('You allowed the reference Rent.').waitFor()
    await inspect(operator, 'console-queues-recharge-allowed')
    await confirm(operator, again.bizId)
    await operator.page.getByText('Another person must take this decision.').waitFor()
    await confirm(checker, again.bizId)
    await checker.confirm()
    await checker.page.getByText(`${again.orderNo} is confirmed.`).waitFor()
  })

  test('payouts: one operator verifies the account, the other approves, both settle and return', async () => {
    const account = await post(owner.accessToken, '/withdrawal-channels', payoutAccount())
    const { page } = operator
    await page.goto(`${world.url}/console/queues/payout-accounts`)
    await inspect(operator, 'console-queues-payout-accounts-waiting')
    await page.getByRole('link', { name: account.maskedAccount }).click()
    await page.getByLabel('Reason').fill('compare with the statement')
    await page.getByRole('button', { name: 'Reveal the account number' }).click()
    await page.getByText(/^DE\d{20}$/).waitFor()
    await inspect(operator, 'console-queues-payout-account')
    await choose(operator, 'Verify')
    await page.getByText('The payout account is verified.').waitFor()
    await page.getByRole('cell', { name: 'operator@demo.test (you)' }).first().waitFor()

    const { bizId, orderNo } = await requestPayout(account.bizId, '600.00')
    await page.goto(`${world.url}/console/queues/withdrawals`)
    await page.getByRole('link', { name: orderNo }).click()
    await page.getByText('You verified the payout account.').waitFor()
    await inspect(operator, 'console-queues-withdrawal')
    await choose(operator, 'Approve')
    await page.getByText('Another person must take this decision.').waitFor()

    await checker.page.goto(`${world.url}/console/queues/withdrawals/${bizId}`)
    await choose(checker, 'Approve')
    await checker.page.getByText(`${orderNo} is approved.`).waitFor()
    await checker.page.getByText('You took an earlier decision.').first().waitFor()
    await choose(checker, 'Complete')
    await checker.page.getByText('Another person must take this decision.').waitFor()
    await inspect(checker, 'console-queues-withdrawal-denied')

    await page.reload()
    await choose(operator, 'Complete', { 'Bank reference': 'SEPA 2026-17' })
    await page.getByText(`${orderNo} is completed.`).waitFor()
    await page.getByText('You recorded this payout. Another operator must return it.').waitFor()
    expect(await page.getByRole('radio', { name: 'Record a returned payout' }).isDisabled()).toBe(true)
    await inspect(operator, 'console-queues-withdrawal-completed')
  })

  test('payouts: below the threshold, one operator approves and completes, and another one returns', async () => {
    const account = await post(owner.accessToken, '/withdrawal-channels', payoutAccount())
    await operator.page.goto(`${world.url}/console/queues/payout-accounts/${account.bizId}`)
    await choose(operator, 'Verify')
    await operator.page.getByText('The payout account is verified.').waitFor()
    const { bizId, orderNo } = await requestPayout(account.bizId, '100.00')
    await operator.page.goto(`${world.url}/console/queues/withdrawals/${bizId}`)
    await choose(operator, 'Approve')
    await operator.page.getByText(`${orderNo} is approved.`).waitFor()
    await choose(operator, 'Complete', { 'Bank reference': 'SEPA 2026-18' })
    await operator.page.getByText(`${orderNo} is completed.`).waitFor()
    await checker.page.goto(`${world.url}/console/queues/withdrawals/${bizId}`)
    await choose(checker, 'Record a returned payout', { Reason: 'the account is closed' })
    await checker.page.getByText(`${orderNo} is returned.`).waitFor()
    await checker.page.getByRole('rowheader', { name: 'Returned' }).waitFor()
    await inspect(checker, 'console-queues-withdrawal-returned')
  })

  test('an operator does not decide on a request of the person’s account at the other portal', async () => {
    const token = await register('operator@demo.test')
    const list = async (path: string) =>
      (await world.portico.call('GET', `/web/v1/consumer${path}`, { token })).body.data
    const [{ workspaceBizId }] = await list('/workspaces/mine')
    const wallets: { bizId: string; currency: string }[] = await list('/wallets')
    const wallet = wallets.find(({ currency }) => currency === 'USD')
    const order = { walletBizId: wallet?.bizId, channelCode: 'CARD_USD', amount: '50.00' }
    const { bizId } = await post(token, '/recharges', order, { 'x-workspace-id': workspaceBizId })
    const { page } = operator
    await page.goto(`${world.url}/console/queues/recharges/${bizId}`)
    await page.getByText('You created this request. Another person must decide.').waitFor()
    await page.getByText('You belong to this workspace. Another person must decide.').waitFor()
    expect(await page.getByRole('radio', { name: 'Confirm the payment' }).isDisabled()).toBe(true)
    await page.emulateMedia({ colorScheme: 'dark' })
    await inspect(operator, 'console-queues-recharge-own')
    await page.emulateMedia({ colorScheme: 'light' })
  })

  test('an operator without the permission sees which one', async () => {
    await restrictChecker(world, (permission) => permission !== 'transfer:approve')
    const { orderNo } = await transfer('800.00')
    await checker.page.goto(`${world.url}/console/queues/transfers/${orderNo}`)
    await checker.page.getByText('You need the permission “Approve transfers”.').waitFor()
    expect(await checker.page.getByRole('radio', { name: 'Approve' }).isDisabled()).toBe(true)
    await inspect(checker, 'console-queues-transfer-without-permission')
  })

  test('proposals: neither the proposer nor the operator can confirm new permissions', async () => {
    const params = { accountEmail: 'checker@demo.test' }
    const { items } = await system('GET', `/operators?${new URLSearchParams(params)}`)
    const [{ bizId: id, permissionCodes }] = items
    const change = { permissionCodes: [...permissionCodes, 'transfer:approve'], reason: 'approves transfers again' }
    const { bizId } = await system('POST', `/operators/${id}/permissions/propose`, change)
    await operator.page.goto(`${world.url}/console/queues/proposals`)
    await inspect(operator, 'console-queues-proposals-waiting')
    await operator.page.getByRole('link', { name: 'Permissions' }).click()
    await operator.page.getByText('You proposed this. Another operator must confirm it.').waitFor()
    await operator.page.getByText('Approve transfers', { exact: true }).first().waitFor()
    await inspect(operator, 'console-queues-proposal-own')
    await checker.page.goto(`${world.url}/console/queues/proposals/${bizId}`)
    await checker.page.getByText('This concerns your account. Other operators must decide.').waitFor()
    await choose(operator, 'Withdraw', { Reason: 'a mistake' })
    await operator.page.getByText('This item needs no decision.').waitFor()
  })

  test('proposals: the second operator confirms a new owner', async () => {
    const { bizId: id } = await post(owner.accessToken, '/workspaces', {
      ...{ workspaceName: 'Orphan', workspaceKind: 'LIVE' },
    })
    const excluded = { policyConfig: { enterable: false }, reason: 'left the company' }
    const userBizId = await idOf('owner@demo.test')
    await system('POST', `/workspaces/${id}/members/policy`, { ...excluded, userBizId })
    const proposal = { userBizId: await idOf('member@demo.test'), reason: 'her successor' }
    const { bizId } = await system('POST', `/workspaces/${id}/owner/propose`, proposal)
    const { page } = checker
    await page.goto(`${world.url}/console/queues/proposals`)
    await page.getByRole('link', { name: 'New owner' }).click()
    await page.getByText('member@demo.test becomes an owner of the workspace.').waitFor()
    expect(new URL(page.url()).pathname).toContain(bizId)
    await choose(checker, 'Confirm')
    await page.getByText('This item needs no decision.').waitFor()
    await inspect(checker, 'console-queues-proposal-confirmed')
  })
})

/** Takes a decision. */
async function choose({ page }: Visitor, label: string, fields: Record<string, string> = {}): Promise<void> {
  await page.getByRole('radio', { name: label }).check()
  for (const [name, value] of Object.entries(fields)) await page.getByLabel(name).fill(value)
  await page.getByRole('button', { name: label, exact: true }).click()
}

async function heading(page: Page, name: string): Promise<void> {
  await page.getByRole('heading', { level: 1, name }).waitFor()
}

/** A document as a bank makes it, or a picture of it. */
async function printed({ context }: Visitor, html: string, type: 'image/png' | 'application/pdf'): Promise<Buffer> {
  const page = await context.newPage()
  await page.setContent(html)
  const clip = { x: 0, y: 0, width: 600, height: 300 }
  const file = type === 'application/pdf' ? await page.pdf() : await page.screenshot({ clip })
  await page.close()
  return file
}
