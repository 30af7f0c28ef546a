import { bytesOf, type KeyedColumns, type KeyedRow, textOf } from '../platform/key-rotation/index.ts'
import { otpContext } from './mfa/totp.ts'
import { successorContext } from './sessions/refresh.ts'

const otpFactors = { table: 'otp_factors', key: ['account_biz_id'], reads: ['portal'], purpose: 'otp-secret' } as const

export const keyedColumns: KeyedColumns = {
  sealed: [
    {
      label: 'signing keys',
      table: 'signing_keys',
      column: 'private_key',
      key: ['kid'],
      purpose: 'signing-key',
      contextOf: (row) => textOf(row, 'kid'),
    },
    {
      label: 'channel keys',
      table: 'channel_keys',
      column: 'private_key',
      key: ['key_id'],
      purpose: 'channel-key',
      contextOf: (row) => textOf(row, 'key_id'),
    },
    { ...otpFactors, label: 'authenticators', column: 'secret', contextOf: otpContextOf },
    { ...otpFactors, label: 'pending authenticators', column: 'pending_secret', contextOf: otpContextOf },
    {
      label: 'refresh tokens',
      table: 'refresh_tokens',
      column: 'successor',
      key: ['token_digest'],
      purpose: 'refresh-successor',
      contextOf: (row) => successorContext(bytesOf(row, 'token_digest')),
    },
  ],
  digests: [
    { label: 'sessions', table: 'sessions', column: 'client_digest', expiresAt: 'expires_at', endedAt: 'ended_at' },
    {
      label: 'refresh tokens',
      table: 'refresh_tokens',
      column: 'token_digest',
      expiresAt: 'expires_at',
      endedAt: 'used_at',
    },
    {
      label: 'sign-ins and registrations',
      table: 'login_sessions',
      column: 'token_digest',
      expiresAt: 'expires_at',
      endedAt: 'spent_at',
    },
    {
      label: 'one-time codes',
      table: 'one_time_codes',
      column: 'code_digest',
      expiresAt: 'expires_at',
      endedAt: 'used_at',
    },
    {
      label: 'password links',
      table: 'password_tokens',
      column: 'token_digest',
      expiresAt: 'expires_at',
      endedAt: 'used_at',
    },
    { label: 'backup codes', table: 'backup_codes', column: 'code_digest', endedAt: 'used_at' },
    // Renewed at the next sign-in from the device. Cleanup deletes old ones.
    { label: 'known devices', table: 'known_devices', column: 'client_digest' },
    // Renewed at the next attempt. Cleanup deletes old ones. The device of a row is under the same key.
    { label: 'failed sign-ins', table: 'login_failures', column: 'subject_digest' },
  ],
}

function otpContextOf(row: KeyedRow): string {
  return otpContext(textOf(row, 'portal'), textOf(row, 'account_biz_id'))
}
