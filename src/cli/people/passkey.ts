import { z } from 'zod'
import { loadConfigured } from '../../compose/extensions.ts'
import { migrateStore } from '../../compose/migrations.ts'
import { type Configuration, loadConfiguration } from '../../config/index.ts'
import { inTransaction, type SchemaOwner } from '../../database/index.ts'
import { accountByEmail, createPasskeyEnrollment } from '../../identity/index.ts'
import { addMs, days, type Instant, toIso } from '../../kernel/index.ts'
import { createKeyedDigest } from '../../platform/crypto/index.ts'
import { systemClock, systemRandomness } from '../../platform/runtime/index.ts'
import { type Command, onlyOneProcess, parseOptions, reasonHelp, reasonOption, reasonText } from '../command.ts'
import { auditCommand, withExistingStore } from '../store.ts'

const Options = z.object({
  email: z.string('--email is required: the e-mail address of the operator'),
  reason: reasonText,
})

/** Short, because the token takes part in the first sign-in. */
const lifetimeMs = days(1)

export const operatorPasskey: Command = {
  name: 'operator passkey',
  summary: 'let an operator register the first passkey',
  help: [
    '  --email address          operator',
    reasonHelp,
    '',
    'Prints a token once. It works for a day, and earlier tokens of the operator stop working. Hand it over in person: with',
    'the password and another second factor, it registers a passkey that counts for permissions which need one',
    '(portals.SYSTEM.mfa.required). A passkey that was registered without a token does not count.',
    onlyOneProcess,
  ].join('\n'),
  options: { email: { type: 'string' }, ...reasonOption },
  run: async (values, { domains, variables, print }) => {
    const settings = loadConfiguration(variables, domains)
    const { owners } = await loadConfigured(domains, settings)
    const { email, reason } = parseOptions(Options, values)
    const created = await createToken(settings, owners, { email, reason })
    if (!created) throw new Error(`${email} has no active account on the SYSTEM portal`)
    const { token, expiresAt } = created
    print(
      { email, token, expiresAt: toIso(expiresAt) },
      `enrollment token (shown only once, until ${toIso(expiresAt)}): ${token}\n`,
    )
    return 0
  },
}

function createToken(
  settings: Configuration,
  owners: readonly SchemaOwner[],
  { email, reason }: { email: string; reason: string },
): Promise<{ token: string; expiresAt: Instant } | undefined> {
  return withExistingStore(settings, async (store) => {
    await migrateStore(store, owners, settings)
    const ports = { digest: createKeyedDigest(settings.secretKeys.reveal()), randomness: systemRandomness }
    return inTransaction(store.database, async (tx) => {
      const account = await accountByEmail(tx, 'SYSTEM', email)
      if (account?.status !== 'ACTIVE') return undefined
      const at = systemClock.now()
      const expiresAt = addMs(at, lifetimeMs)
      const token = await createPasskeyEnrollment(ports, tx, account, { at, expiresAt })
      await auditCommand(tx, { command: operatorPasskey.name, reason }, { targetId: account.id, detail: {} })
      return { token, expiresAt }
    })
  })
}
