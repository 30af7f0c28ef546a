import { codeIn } from '../../harness/sign-in.ts'
import type { App, AppWorld, Visitor } from './world.ts'

/** Passkeys of this page in both portals, and no wait between two mails. For `startAppWorld`. */
export function withPasskeys(
  settings: Parameters<NonNullable<Parameters<typeof import('./world.ts').startAppWorld>[0]>>[0],
) {
  settings.login.resendMs = 0
  for (const portal of Object.values(settings.portals))
    portal.passkeys = {
      rpId: 'localhost',
      origins: [settings.publicUrl],
      userVerification: 'required',
      attestation: 'none',
    }
}

/** Fills the form of the sign-in page. */
export async function enterPassword({ page }: Visitor, email: string, password: string): Promise<void> {
  await page.getByLabel('Email').fill(email)
  await page.getByLabel('Password', { exact: true }).fill(password)
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
}

/** Enters a code into the dialog that asks for one. */
export async function enterCode({ page }: Visitor, code: string): Promise<void> {
  const dialog = page.getByRole('dialog')
  await dialog.getByRole('textbox').fill(code)
  await dialog.getByRole('button', { name: 'Confirm', exact: true }).click()
}

/** Waits until the dialog asks for a mailed code, and enters the newest one. */
export async function enterMailedCode(
  { portico }: AppWorld,
  visitor: Visitor,
  email: string,
  template: 'login-code' | 'step-up-code' = 'step-up-code',
): Promise<void> {
  await visitor.page
    .getByRole('dialog')
    .getByLabel(/Code that we sent to/)
    .waitFor()
  await enterCode(visitor, codeIn((await portico.mailTo(email, template)).text))
}

export function heading({ page }: Visitor, name: string): Promise<void> {
  return page.getByRole('heading', { level: 1, name, exact: true }).waitFor()
}

export async function signOut(visitor: Visitor): Promise<void> {
  await visitor.page.getByText('Account', { exact: true }).first().click()
  await visitor.page.getByRole('button', { name: 'Sign out' }).click()
  await heading(visitor, 'Sign in')
}

/** The path and fragment of the newest mailed link to a page, such as `/reset-password`. */
export async function mailedLink(
  { portico }: AppWorld,
  email: string,
  template: 'password-reset' | 'factor-added',
): Promise<string> {
  const link = /https?:\/\/\S+#token=[\w-]+/.exec((await portico.mailTo(email, template)).text)?.[0]
  if (!link) throw new Error(`no link in the mail ${template} to ${email}`)
  return link
}

/** The navigation is there for signed-in users. */
export function signedIn({ page }: Visitor): Promise<void> {
  return page.getByRole('navigation').waitFor({ state: 'attached' })
}

export function pathOf(world: AppWorld, app: App, path: string): string {
  return `${world.url}/${app}${path}`
}
