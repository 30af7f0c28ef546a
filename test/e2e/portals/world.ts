import { vi } from 'vitest'
import { developmentIds } from '../../../src/seed/development.ts'
import { type Client, client, data, signInAs } from '../../harness/identity.ts'
import { addMerchant } from '../../harness/merchant.ts'
import { type Options, type Portico, startPortico } from '../../harness/portico.ts'

export const [ofConsumer, ofMerchant] = ['/web/v1/consumer', '/web/v1/merchant'] as const
const ofSystem = '/web/v1/system'

/** A person at one portal. */
export interface Person {
  email: string
  accountId: string
  by: Client
  token: string
  workspace: string
  get(path: string, headers?: Record<string, string | null>): ReturnType<Client['get']>
  post(path: string, body?: object, headers?: Record<string, string | null>): ReturnType<Client['post']>
}

type Adjust = NonNullable<Options['adjust']>

/** One address has mails of two portals: each call waits for a mail that no earlier call has returned. */
function withEachMailOnce(portico: Portico): Portico {
  const returned = new Set<string>()
  const mailTo: Portico['mailTo'] = async (address, template) => {
    const find = async () =>
      (await portico.mailsTo(address)).find((each) => each.template === template && !returned.has(each.text))
    await vi.waitUntil(find, { timeout: 20_000 })
    const found = await find()
    if (!found) throw new Error(`no mail ${template} to ${address}`)
    returned.add(found.text)
    return found
  }
  return Object.defineProperty(portico, 'mailTo', { value: mailTo })
}

/** MERCHANT has its own host and links, and the sign-in rules of CONSUMER. */
export async function startWithMerchant(more: Options = {}): Promise<Portico> {
  const adjust: Adjust = (settings) => {
    const { links } = settings.portals.CONSUMER
    addMerchant(settings, {
      hosts: ['merchant.example'],
      links: { ...links, signIn: 'https://signin.example/', passwordReset: 'https://signin.example/reset' },
    })
    more.adjust?.(settings)
  }
  return withEachMailOnce(await startPortico({ ...more, adjust }))
}

/** Without a workspace: that of the account. */
export function personOf(
  { by, token, email }: { by: Client; token: string; email: string },
  { accountId, workspace }: { accountId: string; workspace: string },
): Person {
  const within = { 'x-workspace-id': workspace }
  return {
    ...{ email, accountId, by, token, workspace },
    get: (path, headers) => by.get(path, token, { ...within, ...headers }),
    post: (path, body, headers) => by.post(path, body, token, { ...within, ...headers }),
  }
}

/** Signs in with a password, and steps up. */
export async function enter(portico: Portico, chain: string, email: string, password?: string): Promise<Person> {
  const by = client(portico, { chain })
  const { accessToken: token } = await signInAs(portico, by, email, password)
  const { bizId: accountId } = data(await by.get('/profile', token))
  const [own] = data(await by.get('/workspaces/mine', token))
  return personOf({ by, token, email }, { accountId, workspace: own.workspaceBizId })
}

/** An operator has no workspace. */
export async function enterAsOperator(portico: Portico, email = 'operator@demo.test') {
  const by = client(portico, { chain: ofSystem })
  const { accessToken: token } = await signInAs(portico, by, email, 'Portico-demo-2026')
  return {
    get: (path: string) => by.get(path, token),
    post: (path: string, body?: object) => by.post(path, body, token),
  }
}

/** Of the account with seeded money. */
export function enterAsOwner(portico: Portico): Promise<Person> {
  return enter(portico, ofConsumer, 'owner@demo.test', 'Portico-demo-2026').then((owner) =>
    personOf(owner, { ...owner, workspace: developmentIds.workspace }),
  )
}
