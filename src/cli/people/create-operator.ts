import type { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { z } from 'zod'
import { operatorRoles } from '../../banking/operators/index.ts'
import { catalogueOf, loadConfigured } from '../../compose/extensions.ts'
import { breachCheckOf, identitySettings } from '../../compose/identity.ts'
import { migrateStore } from '../../compose/migrations.ts'
import { type Configuration, loadConfiguration } from '../../config/index.ts'
import { accountMailbox, maxPasswordLength, passwordLength } from '../../contract/account-fields.ts'
import { text as printable } from '../../contract/fields.ts'
import { inTransaction, type SchemaOwner } from '../../database/index.ts'
import {
  assertPasswordAllowed,
  type EnrolledFactors,
  enrollAuthenticator,
  provideAccount,
} from '../../identity/index.ts'
import {
  type AccountId,
  isAcceptedMailbox,
  type Permission,
  Refusal,
  unquoted,
  withAsciiDomain,
} from '../../kernel/index.ts'
import { createKeyedDigest, createPasswordHasher, createSecretBox } from '../../platform/crypto/index.ts'
import { createDependencyLog } from '../../platform/dependency-log.ts'
import { systemClock, systemDurations, systemIds, systemRandomness } from '../../platform/runtime/index.ts'
import { createLogger } from '../../platform/telemetry/index.ts'
import { developmentPassword } from '../../seed/development.ts'
import {
  assertDomains,
  type Command,
  parseOptions,
  reasonHelp,
  reasonOption,
  reasonText,
  UsageError,
} from '../command.ts'
import { auditCommand, withStore } from '../store.ts'

const maxNameLength = 128
const nameRequired = { error: `--name is required: up to ${maxNameLength} printable characters` }
const emailRequired = { error: '--email is required: a valid e-mail address' }

const OperatorOptions = z.object({
  email: z
    .string(emailRequired)
    .transform((text) => unquoted(withAsciiDomain(text)))
    .refine(isMailbox, emailRequired),
  name: z
    .string(nameRequired)
    .refine((name) => printable(maxNameLength).safeParse(name).success, nameRequired)
    .trim(),
  role: z.string().optional(),
  permissions: z.string().optional(),
  'password-stdin': z.boolean().default(false),
  'no-authenticator': z.boolean().default(false),
  reason: reasonText,
})

/** 144 bits of entropy. */
const generatedBytes = 18

/** Throws a UsageError for an unknown permission. */
export function parsePermissions(operatorPermissions: readonly Permission[], list: string): Permission[] {
  return list.split(',').map((code) => {
    const known = operatorPermissions.find((each) => each === code.trim())
    if (!known) throw new UsageError(`--permissions: '${code}' is not one of ${operatorPermissions.join(', ')}`)
    return known
  })
}

/** Longer than the password policy requires. */
const minOperatorPasswordLength = 12

export const operatorCreate: Command = {
  name: 'operator create',
  summary: 'create an operator account on the SYSTEM portal',
  help: [
    '  --email address          e-mail address for sign-in and codes',
    '  --name text              name that other operators see',
    '  --role name              administrator (default, all permissions), auditor, approver, confirmer, verifier or',
    '                           settler',
    '  --permissions a,b        permissions instead of a role, such as account:read,account:approve',
    '  --no-authenticator       do not add an authenticator; only in the development profile',
    '  --password-stdin         read the password from standard input; without it, a generated one is printed once',
    reasonHelp,
    '',
    'The command prints the secret of a new authenticator app and ten backup codes once. The embedded store can be used by',
    'one process only: stop the gateway first, or use PostgreSQL.',
  ].join('\n'),
  options: {
    email: { type: 'string' },
    name: { type: 'string' },
    role: { type: 'string' },
    permissions: { type: 'string' },
    'password-stdin': { type: 'boolean' },
    'no-authenticator': { type: 'boolean' },
    ...reasonOption,
  },
  run: async (values, { domains, variables, stdin, print }) => {
    const options = parseOptions(OperatorOptions, values)
    const { email, name, role, permissions: list, 'password-stdin': usesStdin, reason } = options
    const hasAuthenticator = !options['no-authenticator']
    const settings = loadConfiguration(variables, domains)
    if (!isAcceptedMailbox(email, settings.mail.carrierDomains)) throw new UsageError(emailRequired.error)
    if (!hasAuthenticator && settings.profile === 'production')
      throw new UsageError('--no-authenticator works only in the development profile')
    const { domains: loaded, owners } = await loadConfigured(domains, settings)
    const { operatorPermissions } = catalogueOf(loaded)
    if (role !== undefined && role !== 'administrator') assertDomains(`--role ${role}`, ['operators'], loaded)
    const permissions = selectPermissions(operatorPermissions, role, list)
    const password = usesStdin
      ? await readPassword(stdin)
      : Buffer.from(systemRandomness.bytes(generatedBytes)).toString('base64url')
    const operator = { email, name, password, permissions, hasAuthenticator }
    await assertStrength(settings, operator)
    const created = await createOperator(settings, owners, { ...operator, reason })
    if (!created) throw new Error(`${email} already has an account on the SYSTEM portal; nothing was changed`)
    const { id, factors } = created
    print(
      { id, email, permissions, authenticator: factors, password: usesStdin ? null : password },
      [
        `created the operator ${email} with ${permissions.length} permissions\n`,
        factors ? describeFactors(factors) : '',
        usesStdin ? '' : `password (shown only once): ${password}\n`,
      ].join(''),
    )
    return 0
  },
}

function isMailbox(text: string): boolean {
  return accountMailbox.safeParse(text).success
}

/** Throws a UsageError for an unknown role or permission. */
function selectPermissions(
  operatorPermissions: readonly Permission[],
  role: string | undefined,
  list: string | undefined,
): Permission[] {
  if (list === undefined) {
    const name = role ?? 'administrator'
    const holds = Object.hasOwn(operatorRoles, name) ? operatorRoles[name] : undefined
    if (!holds) throw new UsageError(`--role must be one of ${Object.keys(operatorRoles).join(', ')}, not '${role}'`)
    return operatorPermissions.filter(holds)
  }
  if (role !== undefined) throw new UsageError('--role and --permissions cannot be combined')
  return parsePermissions(operatorPermissions, list)
}

/** A password is never an option, because other users can read the command line. */
async function readPassword(stdin: Readable): Promise<string> {
  const password = (await text(stdin)).split(/\r?\n/)[0] ?? ''
  const length = passwordLength(password)
  if (length < minOperatorPasswordLength || length > maxPasswordLength)
    throw new Error(`the password must have ${minOperatorPasswordLength} to ${maxPasswordLength} characters`)
  if (password === developmentPassword) throw new Error('this password is published in the documentation')
  return password
}

interface Operator {
  email: string
  name: string
  password: string
  permissions: Permission[]
  hasAuthenticator: boolean
}

/** Checks the password policy except the length. */
async function assertStrength(settings: Configuration, { password, email, name }: Operator): Promise<void> {
  const logger = createLogger('warn', 2, settings.log.format)
  const breachedPasswords = breachCheckOf(settings, createDependencyLog(logger, systemDurations))
  try {
    await assertPasswordAllowed({ breachedPasswords, settings: identitySettings(settings) }, password, { email, name })
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    throw new Error('the password is refused', { cause: error })
  }
}

interface CreatedOperator {
  id: AccountId
  factors: EnrolledFactors | null
}

/** Resolves with undefined if the e-mail address has an account. */
function createOperator(
  settings: Configuration,
  owners: readonly SchemaOwner[],
  operator: Operator & { reason: string },
): Promise<CreatedOperator | undefined> {
  return withStore(settings, async (store) => {
    await migrateStore(store, owners, settings)
    const { database } = store
    const passwords = createPasswordHasher({ concurrency: 1, waiting: 1 }, systemRandomness)
    const { maxConcurrent: maxSessions } = settings.sessions
    const ports = { database, clock: systemClock, ids: systemIds, passwords, maxSessions }
    const { permissions: operatorPermissions, hasAuthenticator, reason, ...account } = operator
    const keys = settings.secretKeys.reveal()
    const factorPorts = {
      digest: createKeyedDigest(keys),
      secretBox: createSecretBox(keys, systemRandomness),
      randomness: systemRandomness,
    }
    return inTransaction(database, async (tx) => {
      const provided = await provideAccount(ports, { ...account, portal: 'SYSTEM', operatorPermissions }, tx)
      if (!provided.created) return undefined
      const { accountId: id } = provided
      const enrolled = { portal: 'SYSTEM', id, email: account.email } as const
      const factors = hasAuthenticator
        ? await enrollAuthenticator(factorPorts, tx, enrolled, settings.mfa.issuer, systemClock.now())
        : null
      const without = hasAuthenticator ? {} : { authenticator: 'none' }
      const detail = { permissions: operatorPermissions.join(','), ...without }
      await auditCommand(tx, { command: operatorCreate.name, reason }, { targetId: id, detail })
      return { id, factors }
    })
  })
}

function describeFactors({ uri, secret, backupCodes }: EnrolledFactors): string {
  return [
    `authenticator (shown only once): ${uri}`,
    `authenticator secret: ${secret}`,
    `backup codes (shown only once): ${backupCodes.join(' ')}`,
    '',
  ].join('\n')
}
