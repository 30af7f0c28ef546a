import { SignJWT } from 'jose'
import { sql } from 'kysely'
import { identitySettings } from '../../../src/compose/identity.ts'
import { databaseTarget } from '../../../src/compose/store.ts'
import type { Variables } from '../../../src/config/env.ts'
import { openDatabase } from '../../../src/database/index.ts'
import { accessTokenType, SigningKeys } from '../../../src/identity/index.ts'
import { audienceOf } from '../../../src/identity/tokens/rules.ts'
import { createKeyedDigest, createSecretBox } from '../../../src/platform/crypto/index.ts'
import { systemClock, systemIds, systemRandomness } from '../../../src/platform/runtime/index.ts'
import { growStore } from '../../growth/large-store.ts'
import { schemaOwners } from '../../harness/domains.ts'
import { productionKey, testSettings } from '../../harness/settings.ts'
import { perimeter } from '../load/people.ts'
import type { Rig } from '../rig/workspace.ts'
import { databaseUrl, postgres, statement } from '../store/stores.ts'

/** Has a separate session, client and address. */
export interface SignedIn {
  workspace: string
  headers: Record<string, string>
}

export interface AccountStore {
  variables: Variables
  /** Adds accounts with workspaces, wallets and orders. Not all of them can sign in. */
  grow(accounts: number): Promise<void>
  /** Inserts sessions, and signs their tokens with the gateway's key. Each call uses further accounts. */
  signIn(accounts: number): Promise<SignedIn[]>
}

function databaseName(purpose: string): string {
  return `bench_growth_${purpose}`
}

function addressOf(number: number): string {
  return `10.${(number >> 16) & 255}.${(number >> 8) & 255}.${number & 255}`
}

export async function openAccountStore(rig: Rig, purpose: string): Promise<AccountStore> {
  const server = await postgres()
  if (!server) throw new Error('needs PostgreSQL')
  await statement(server.url, `CREATE DATABASE ${databaseName(purpose)}`)
  const variables = { DATABASE_URL: databaseUrl(server.url, databaseName(purpose)), PORTICO_SECRET_KEY: productionKey }
  const settings = testSettings(variables, ({ database }) => {
    database.statementTimeoutMs = 600_000
  })
  const store = await openDatabase(databaseTarget(settings, () => undefined))
  rig.stopAtEnd({ stop: () => store.close() })
  await store.migrate(schemaOwners)
  const { database } = store
  const secrets = settings.secretKeys.reveal()
  const digest = createKeyedDigest(secrets)
  const ports = { database, clock: systemClock, ids: systemIds, secretBox: createSecretBox(secrets, systemRandomness) }
  const { tokens, sessions } = identitySettings(settings)
  const { kid, privateKey } = await new SigningKeys(ports, tokens).signing()

  /** As `AccessTokens.issue` signs them. */
  const sign = (account: string, session: string, clientDigest: Uint8Array): Promise<string> =>
    new SignJWT({ sid: session, client: Buffer.from(clientDigest).toString('base64url') })
      .setProtectedHeader({ alg: 'EdDSA', typ: accessTokenType, kid })
      .setIssuer(tokens.issuer)
      .setAudience(audienceOf(tokens.issuer, 'CONSUMER'))
      .setSubject(account)
      .setJti(systemIds.next<'token'>())
      .setIssuedAt()
      .setNotBefore(Math.floor(Date.now() / 1_000))
      .setExpirationTime(Math.floor((Date.now() + tokens.accessTtlMs) / 1_000))
      .sign(privateKey)

  let grown = -1
  let signedIn = 0

  const takeAccounts = async (count: number): Promise<{ account: string; workspace: string }[]> => {
    const { rows } = await sql<{ account: string; workspace: string }>`
      SELECT accounts.biz_id AS account, workspace_biz_id AS workspace
        FROM accounts JOIN memberships ON account_biz_id = accounts.biz_id AND is_default
       WHERE portal = 'CONSUMER' AND account_status = 'ACTIVE' AND email LIKE 'account-%'
       ORDER BY accounts.biz_id OFFSET ${signedIn} LIMIT ${count}`.execute(database)
    if (rows.length < count) throw new RangeError(`the store has only ${rows.length} more accounts`)
    return rows
  }

  return {
    variables,
    grow: async (accounts) => {
      await growStore(database, { first: grown + 1, last: accounts })
      grown = accounts
    },
    signIn: async (count) => {
      const people = (await takeAccounts(count)).map((each, index) => {
        const client = `client-${signedIn + index}`
        const ip = addressOf(signedIn + index)
        const [session, clientDigest] = [systemIds.next<'session'>(), digest('client-hash', client)]
        return { ...each, ip, session, clientDigest, headers: perimeter(client, ip) }
      })
      signedIn += count
      await sql`
        INSERT INTO sessions (biz_id, portal, account_biz_id, client_digest, client_ip, user_agent, login_at,
          last_activity_at, idle_expires_at, expires_at)
        SELECT id, 'CONSUMER', account, client_digest, ip, 'bench', now(), now(),
          now() + ${sessions.idleMs}::bigint * interval '1 ms', now() + ${sessions.absoluteMs}::bigint * interval '1 ms'
          FROM unnest(${people.map(({ session }) => session)}::uuid[], ${people.map(({ account }) => account)}::uuid[],
            ${people.map(({ clientDigest }) => clientDigest)}::bytea[], ${people.map(({ ip }) => ip)}::text[])
            AS each (id, account, client_digest, ip)`.execute(database)
      return Promise.all(
        people.map(async ({ account, workspace, session, clientDigest, headers }) => ({
          workspace,
          headers: { ...headers, authorization: `Bearer ${await sign(account, session, clientDigest)}` },
        })),
      )
    },
  }
}
