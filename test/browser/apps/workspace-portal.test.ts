import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { developmentIds } from '../../../src/seed/development.ts'
import { needs } from '../../harness/needs.ts'
import { type Session, signIn } from '../../harness/sign-in.ts'
import { chromiumPath } from '../chromium.ts'
import { heading } from './people.ts'
import { button, done, open, submit } from './workspace-people.ts'
import { type AppWorld, inspect, startAppWorld, type Visitor } from './world.ts'

/** Each time on the page, without its date. */
const timesOn = ({ page }: Visitor) => page.locator('main time').allTextContents()
const entriesOf = ({ page }: Visitor) => page.getByRole('navigation').getByRole('link').allTextContents()

describe('the workspace in the portal', needs(chromiumPath, 'Chromium is not installed'), () => {
  let world: AppWorld
  let owner: Visitor
  let session: Session
  let tokyo: string

  const call = async (method: string, path: string, more: object = {}) => {
    const { status, text, body } = await world.portico.call(method, `/web/v1/consumer${path}`, {
      token: session.accessToken,
      ...more,
    })
    expect(status, text).toBe(200)
    return body.data
  }

  beforeAll(async () => {
    world = await startAppWorld()
    session = await signIn(world.portico, 'owner@demo.test')
    const body = { workspaceName: 'Tokyo', workspaceTimezone: 'Asia/Tokyo' }
    tokyo = (await call('POST', '/workspaces', { body })).bizId
    owner = await world.signIn('portal', 'owner@demo.test')
  })
  afterAll(() => world?.stop())

  test('after a change of the workspace, the page of a record becomes the list, without the filters', async () => {
    const { page } = owner
    const chooseWorkspace = (label: string) => page.getByLabel('Workspace', { exact: true }).selectOption({ label })
    await open(owner, `/wallets/${developmentIds.mainUsd}`, 'Main USD')
    await chooseWorkspace('Tokyo')
    await heading(owner, 'Wallets')
    await page.getByRole('link', { name: 'BHD' }).waitFor()
    expect(page.url()).toBe(`${world.url}/portal/wallets`)
    await page.goto(`${world.url}/portal/transfers?wallet=${developmentIds.mainUsd}`)
    await heading(owner, 'Transfers')
    await chooseWorkspace('Demo workspace')
    await expect.poll(() => page.url()).toBe(`${world.url}/portal/transfers`)
    await open(owner, '/security/sessions', 'Sessions')
    await chooseWorkspace('Tokyo')
    await heading(owner, 'Sessions')
  })

  test.each([
    ['/workspace', 'Tokyo'],
    ['/members', 'Members'],
    ['/security/sessions', 'Sessions'],
    ['/profile', 'Profile'],
  ])('%s: times are in the zone of the workspace, which they name', async (path, title) => {
    await open(owner, path, title)
    await expect.poll(() => timesOn(owner)).toContainEqual(expect.stringMatching(/ [AP]M GMT\+9$/))
    expect((await timesOn(owner)).filter((time) => !/GMT\+9$|ago|now/.test(time))).toEqual([])
  })

  test('an operator sees the workspace and its orders in its zone, too', async () => {
    const wallets: { bizId: string; currency: string }[] = await call('GET', '/wallets', { workspace: tokyo })
    const walletBizId = wallets.find(({ currency }) => currency === 'USD')?.bizId
    const body = { walletBizId, channelCode: 'BANK_USD', amount: '10.00' }
    const order = await call('POST', '/recharges', { workspace: tokyo, body })
    const operator = await world.signIn('console', 'operator@demo.test')
    for (const [path, title] of [
      [`/workspaces/${tokyo}`, 'Tokyo'],
      [`/queues/recharges/${order.bizId}`, order.orderNo],
    ]) {
      await open(operator, path, title)
      await expect.poll(() => timesOn(operator)).toContainEqual(expect.stringMatching(/ [AP]M GMT\+9$/))
    }
    await inspect(operator, 'console-queues-recharge-tokyo')
    await operator.context.close()
  })

  test('a member sees the permissions of another role without a reload', async () => {
    await open(owner, '/workspace', 'Tokyo')
    await button(owner, 'Open: Demo workspace').click()
    await open(owner, '/roles/new', 'Create a role')
    await owner.page.getByLabel('Name', { exact: true }).fill('Clerk')
    for (const name of ['View workspace', 'View wallets', 'View roles', 'Read events'])
      await owner.page.getByLabel(name, { exact: true }).check()
    await button(owner, 'Create a role').click()
    await heading(owner, 'Clerk')

    const member = await world.signIn('portal', 'member@demo.test')
    await heading(member, 'Wallets')
    expect(await entriesOf(member)).toContain('Transfers')
    await open(owner, '/members', 'Members')
    await button(owner, 'Change role: Demo Member').click()
    await owner.page.getByLabel('New role').selectOption({ label: 'Clerk' })
    await submit(owner, 'Change role')
    await done(owner, 'Demo Member has another role now.')
    await expect.poll(() => entriesOf(member)).not.toContain('Transfers')

    await open(owner, '/roles', 'Roles')
    await owner.page.getByRole('link', { name: 'Clerk' }).click()
    await owner.page.getByLabel('View transfers', { exact: true }).check()
    await button(owner, 'Save permissions').click()
    await done(owner, 'The permissions have been saved.')
    await expect.poll(() => entriesOf(member)).toContain('Transfers')
    await heading(member, 'Wallets')
    await member.context.close()
  })
})
