import { heading } from './people.ts'
import type { Visitor } from './world.ts'

export const button = ({ page }: Visitor, name: string) => page.getByRole('button', { name, exact: true })

/** Goes to a page and waits for its title. */
export async function open(visitor: Visitor, path: string, title: string): Promise<void> {
  await visitor.go(path)
  await heading(visitor, title)
}

/** Presses the button in the dialog that a button of the page opened. */
export const submit = ({ page }: Visitor, name: string): Promise<void> =>
  page.locator('.dialog').getByRole('button', { name, exact: true }).click()

/** Waits for a notice. Steps up if the portal asks for it. Returns whether it did. */
export async function done(visitor: Visitor, text: string): Promise<boolean> {
  const notice = visitor.page.getByText(text, { exact: true }).first()
  const code = visitor.page.locator('.dialog input[name=code]')
  await notice.or(code).first().waitFor()
  const isAsked = await code.isVisible()
  if (isAsked) await visitor.confirm()
  await notice.waitFor()
  return isAsked
}
