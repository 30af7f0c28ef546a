import { stdin, stdout } from 'node:process'
import { text } from 'node:stream/consumers'
import { z } from 'zod'
import { breachCheckOf, identitySettings } from '../compose/identity.ts'
import { schemaOwners } from '../compose/migrations.ts'
import { readVariables } from '../config/env.ts'
import { type Configuration, loadConfiguration } from '../config/index.ts'
import { mailbox, maxPasswordLength, passwordLength } from '../contract/account-fields.ts'
import { text as printable } from '../contract/fields.ts'
import { operatorPermissions } from '../contract/index.ts'
import { inTransaction } from '../database/index.ts'
import { operatorRoles } from '../domains/operators/index.ts'
import { assertPasswordAllowed, disableWhitelistByEmail, provideAccount } from '../identity/index.ts'
import { type Permission, portals, Refusal } from '../kernel/index.ts'
import { createPasswordHasher } from '../platform/crypto/index.ts'
import { systemClock, systemIds, systemRandomness } from '../platform/runtime/index.ts'
import { createLogger } from '../platform/telemetry/index.ts'
import { developmentPassword } from '../seed/development.ts'
import { type Command, parseOptions, UsageError } from './command.ts'
import { auditCommand, withExistingStore, withStore } from './store.ts'

const isMailbox = (text: string): boolean => mailbox.safeParse(text).success
const maxNameLength = 128
const nameRequired = { error: `--name: a name of at most ${maxNameLength} printable characters is needed` }
const emailRequired = { error: '--email: an e-mail address is needed' }

const OperatorOptions = z.object({
  email: z.string(emailRequired).refine(isMailbox, emailRequired),
  name: z
    .string(nameRequired)
    .refine((name) => printable(maxNameLength).safeParse(name).success, nameRequired)
    .trim(),
  role: z.string().optional(),
  permissions: z.string().optional(),
  'password-stdin': z.boolean().default(false),
})

/** 24 characters of 64: 144 bits. */
const generatedBytes = 18

/** The permissions of the operator: those of a role, or those that are listed. */
const selectPermissions = (role: string | undefined, list: string | undefined): Permission[] => {
  if (list === undefined) {
    const name = role ?? 'administrator'
    const holds = Object.hasOwn(operatorRoles, name) ? operatorRoles[name] : undefined
    if (!holds) throw new UsageError(`--role is one of ${Object.keys(operatorRoles).join(', ')}, not '${role}'`)
    return operatorPermissions.filter(holds)
  }
  if (role !== undefined) throw new UsageError('--role and --permissions: one of the two')
  return list.split(',').map((code) => {
    const known = operatorPermissions.find((each) => each === code.trim())
    if (!known) throw new UsageError(`--permissions: '${code}' is none of ${operatorPermissions.join(', ')}`)
    return known
  })
}

/** Operators need a longer password than the policy asks of everybody. */
const minOperatorPasswordLength = 12

/** Reads the first line of standard input. Command lines are visible to other users, so a password is never an option. */
const readPassword = async (): Promise<string> => {
  const password = (await text(stdin)).split(/\r?\n/)[0] ?? ''
  const length = passwordLength(password)
  if (length < minOperatorPasswordLength || length > maxPasswordLength)
    throw new Error(`the password must have ${minOperatorPasswordLength} to ${maxPasswordLength} characters`)
  if (password === developmentPassword) throw new Error('this password is in the documentation')
  return password
}

/** Asserts the password policy beyond the length. */
const assertStrength = async (settings: Configuration, { password, email, name }: Operator): Promise<void> => {
  const breaches = breachCheckOf(settings, createLogger('warn'))
  try {
    await assertPasswordAllowed({ breaches, settings: identitySettings(settings) }, password, { email, name })
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    throw new Error('the password is refused', { cause: error })
  }
}

interface Operator {
  email: string
  name: string
  password: string
  permissions: Permission[]
}

/** Creates the account and its audit entry. Resolves with false if the e-mail address already has an account. */
const createOperator = (settings: Configuration, operator: Operator): Promise<boolean> =>
  withStore(settings, async ({ database, migrate }) => {
    await migrate(schemaOwners)
    const passwords = createPasswordHasher({ concurrency: 1, waiting: 1 }, systemRandomness)
    const { maxConcurrent: maxSessions } = settings.sessions
    const ports = { database, clock: systemClock, ids: systemIds, passwords, maxSessions }
    const { permissions: operatorPermissions, ...account } = operator
    return inTransaction(database, async (tx) => {
      const provided = await provideAccount(ports, { ...account, portal: 'SYSTEM', operatorPermissions }, tx)
      if (!provided.created) return false
      const detail = { permissions: operatorPermissions.join(',') }
      await auditCommand(tx, operatorCreate.name, { targetId: provided.accountId, detail })
      return true
    })
  })

export const operatorCreate: Command = {
  name: 'operator create',
  summary: 'make an account of the SYSTEM portal, the first one above all',
  help: [
    '  --email address          what the operator signs in with; codes are mailed to it',
    '  --name text              shown to other operators',
    '  --role name              administrator (default: every right), approver or auditor',
    '  --permissions a,b        these rights instead of a role’s, such as account:read,account:approve',
    '  --password-stdin         read the password from standard input; otherwise one is made and printed, once',
    '',
    'The embedded store belongs to one process: stop the gateway first, or use PostgreSQL.',
  ].join('\n'),
  options: {
    email: { type: 'string' },
    name: { type: 'string' },
    role: { type: 'string' },
    permissions: { type: 'string' },
    'password-stdin': { type: 'boolean' },
  },
  run: async (values) => {
    const { email, name, role, permissions: list, 'password-stdin': usesStdin } = parseOptions(OperatorOptions, values)
    const permissions = selectPermissions(role, list)
    const settings = loadConfiguration(readVariables())
    const password = usesStdin
      ? await readPassword()
      : Buffer.from(systemRandomness.bytes(generatedBytes)).toString('base64url')
    const operator = { email, name, password, permissions }
    await assertStrength(settings, operator)
    if (!(await createOperator(settings, operator)))
      throw new Error(`${email} has an account on the SYSTEM portal already; nothing was changed`)
    stdout.write(`made the operator ${email} with ${permissions.length} permissions\n`)
    if (!usesStdin) stdout.write(`password, shown this once: ${password}\n`)
    return 0
  },
}

const WhitelistOptions = z.object({
  email: z.string('--email: the account’s e-mail address is needed'),
  portal: z.enum(portals, `--portal: one of ${portals.join(', ')}`),
})

export const whitelistDisable: Command = {
  name: 'whitelist disable',
  summary: 'let in an account that its own IP whitelist keeps out',
  help: [
    '  --email address          whose whitelist is put out of force; its addresses stay; the owner gets a mail',
    `  --portal name            ${portals.join(' or ')} (CONSUMER)`,
    '',
    'Be sure who asks: the password and the second factor are asked for as before, the address no longer. Running gateways',
    'go by it within a second. The embedded store belongs to one process: stop the gateway first, or use PostgreSQL.',
  ].join('\n'),
  options: { email: { type: 'string' }, portal: { type: 'string', default: 'CONSUMER' } },
  run: async (values) => {
    const settings = loadConfiguration(readVariables())
    const owner = parseOptions(WhitelistOptions, values)
    const { email, portal } = owner
    const disabled = await withExistingStore(settings, async ({ database, migrate }) => {
      await migrate(schemaOwners)
      const ports = { database, clock: systemClock, ids: systemIds }
      return disableWhitelistByEmail(ports, owner, (tx, targetId) =>
        auditCommand(tx, whitelistDisable.name, { targetId, detail: { portal } }),
      )
    })
    if (disabled === undefined) throw new Error(`${email} has no account on the ${portal} portal`)
    if (!disabled) throw new Error(`the whitelist of ${email} is not in force; nothing was changed`)
    stdout.write(`the whitelist of ${email} is out of force\n`)
    return 0
  },
}
