import type { Gateway } from '../rig/gateway.ts'
import type { SeededAccount } from '../store/accounts.ts'
import { openLine } from './line.ts'
import { logIn } from './login.ts'
import type { Mailbox } from './mailbox.ts'
import type { Person } from './transfer.ts'

export async function signInAll(
  gateway: Gateway,
  mailbox: Mailbox,
  accounts: readonly SeededAccount[],
): Promise<Person[]> {
  const waiting = [...accounts]
  const people: Person[] = []
  const loop = async (): Promise<void> => {
    const line = await openLine(gateway.url)
    for (let account = waiting.pop(); account; account = waiting.pop())
      people.push({ ...account, headers: await logIn(line, mailbox, account.email) })
    line.close()
  }
  await Promise.all([loop(), loop(), loop(), loop()])
  return people
}
