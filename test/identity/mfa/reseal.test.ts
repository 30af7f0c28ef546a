import { setTimeout as pause } from 'node:timers/promises'
import { generateSync } from 'otplib'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Tx } from '../../../src/database/index.ts'
import { setupOtp, stepUp, verifyOtp } from '../../../src/identity/mfa/contract.ts'
import { readOtp } from '../../../src/identity/mfa/store.ts'
import { openSecret, sealSecret } from '../../../src/identity/mfa/totp.ts'
import { embeddedStore, postgresStore } from '../../ledger/stores.ts'
import { call, createRequestContext, type Harness, harness, signedIn } from '../harness.ts'

const stores = [
  { name: 'PGlite', open: embeddedStore },
  { name: 'PostgreSQL', open: postgresStore },
]

describe.each(stores)('a code of an authenticator whose secret is sealed again, on $name', ({ open }) => {
  let at: Harness | undefined
  beforeAll(async () => {
    const store = await open()
    if (store) at = await harness(undefined, undefined, store)
  })
  afterAll(() => at?.close())

  test('mfa.otpVerify and mfa.stepUp 200: during the commit', async ({ skip }) => {
    if (!at) return skip('PostgreSQL is not installed')
    const { identity, clock } = at
    const { database, secretBox } = at.ports
    await at.account('resealed@demo.test')
    const caller = await signedIn(at, 'resealed@demo.test')
    const { accountId } = caller
    const send = createRequestContext(clock)
    const { secret } = await call(identity, setupOtp, send, null, caller)
    const code = () => generateSync({ secret, epoch: Math.floor(clock.now() / 1_000) })
    const reseal = async (tx: Tx, column: 'secret' | 'pendingSecret') => {
      const { secret: active, pendingSecret } = (await readOtp(tx, 'CONSUMER', accountId)) ?? {}
      const sealed = (column === 'secret' ? active : pendingSecret) ?? expect.fail()
      const again = sealSecret(secretBox, 'CONSUMER', accountId, openSecret(secretBox, 'CONSUMER', accountId, sealed))
      await tx
        .updateTable('otp_factors')
        .set({ [column]: again })
        .where('accountBizId', '=', accountId)
        .execute()
    }
    /** Sends a request after a secret was sealed again and before the transaction commits. */
    const during = async (column: 'secret' | 'pendingSecret', request: () => Promise<unknown>) => {
      const tx = await database.startTransaction().execute()
      await reseal(tx, column)
      const committed = pause(150).then(() => tx.commit().execute())
      await request()
      await committed
    }
    await during('pendingSecret', () => call(identity, verifyOtp, send, { code: code() }, caller))
    clock.advance(30_000)
    await during('secret', () => call(identity, stepUp, send, { mfaMethod: 'OTP', code: code() }, caller))
    expect((await readOtp(database, 'CONSUMER', accountId))?.verifiedAt).not.toBeNull()
  })
})
