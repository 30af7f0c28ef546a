import { bytesOf, type KeyedColumns, type KeyedRow, textOf } from '../platform/key-rotation/index.ts'
import { shownContext } from './mfa/shown.ts'
import { otpContext } from './mfa/totp.ts'
import { attemptContext, tokenContext } from './providers/sealed.ts'
import { successorContext } from './sessions/refresh.ts'

const otpFactors = { table: 'otp_factors', key: ['accountBizId'], reads: ['portal'], purpose: 'otp-secret' } as const

const providerToken = {
  reads: ['portal', 'accountBizId'],
  purpose: 'provider-token',
  contextOf: (row: KeyedRow) => tokenContext(textOf(row, 'portal'), textOf(row, 'accountBizId')),
} as const

export const keyedColumns: KeyedColumns = {
  sealed: [
    {
      label: 'signing keys',
      table: 'signing_keys',
      column: 'privateKey',
      key: ['kid'],
      purpose: 'signing-key',
      contextOf: (row) => textOf(row, 'kid'),
    },
    {
      label: 'channel keys',
      table: 'channel_keys',
      column: 'privateKey',
      key: ['keyId'],
      purpose: 'channel-key',
      contextOf: (row) => textOf(row, 'keyId'),
    },
    { ...otpFactors, label: 'authenticators', column: 'secret', contextOf: otpContextOf },
    { ...otpFactors, label: 'pending authenticators', column: 'pendingSecret', contextOf: otpContextOf },
    {
      label: 'secrets shown again',
      table: 'shown_secrets',
      column: 'secret',
      key: ['accountBizId', 'kind'],
      reads: ['portal', 'sessionBizId'],
      purpose: 'shown-secret',
      contextOf: (row) => shownContext(textOf(row, 'portal'), textOf(row, 'sessionBizId'), textOf(row, 'kind')),
    },
    {
      label: 'refresh tokens',
      table: 'refresh_tokens',
      column: 'successor',
      key: ['tokenDigest'],
      purpose: 'refresh-successor',
      contextOf: (row) => successorContext(bytesOf(row, 'tokenDigest')),
    },
    {
      label: 'sign-ins with a provider',
      table: 'provider_attempts',
      column: 'secret',
      key: ['tokenDigest'],
      purpose: 'provider-attempt',
      contextOf: (row) => attemptContext(bytesOf(row, 'tokenDigest')),
    },
    {
      ...{ label: 'ID tokens of sign-ins', table: 'login_sessions', column: 'providerToken', key: ['tokenDigest'] },
      ...providerToken,
    },
    {
      ...{ label: 'ID tokens of sessions', table: 'sessions', column: 'providerToken', key: ['bizId'] },
      ...providerToken,
    },
  ],
  digests: [
    { label: 'sessions', table: 'sessions', column: 'clientDigest', expiresAt: 'expiresAt', endedAt: 'endedAt' },
    {
      label: 'browser sessions',
      table: 'sessions',
      column: 'cookieDigest',
      expiresAt: 'expiresAt',
      endedAt: 'endedAt',
    },
    { label: 'one-time links', table: 'session_tickets', column: 'ticketDigest', expiresAt: 'expiresAt' },
    { label: 'former cookies', table: 'former_cookies', column: 'cookieDigest', expiresAt: 'expiresAt' },
    {
      label: 'refresh tokens',
      table: 'refresh_tokens',
      column: 'tokenDigest',
      expiresAt: 'expiresAt',
      endedAt: 'usedAt',
    },
    {
      label: 'sign-ins and registrations',
      table: 'login_sessions',
      column: 'tokenDigest',
      expiresAt: 'expiresAt',
      endedAt: 'spentAt',
    },
    {
      label: 'sign-ins with a provider',
      table: 'provider_attempts',
      column: 'tokenDigest',
      expiresAt: 'expiresAt',
      endedAt: 'spentAt',
    },
    {
      label: 'one-time codes',
      table: 'one_time_codes',
      column: 'codeDigest',
      expiresAt: 'expiresAt',
      endedAt: 'usedAt',
    },
    {
      label: 'earlier one-time codes',
      table: 'one_time_codes',
      column: 'earlierDigest',
      expiresAt: 'earlierExpiresAt',
      endedAt: 'usedAt',
    },
    {
      label: 'password links',
      table: 'password_tokens',
      column: 'tokenDigest',
      expiresAt: 'expiresAt',
      endedAt: 'usedAt',
    },
    {
      label: 'passkey challenges',
      table: 'passkey_challenges',
      column: 'challengeDigest',
      expiresAt: 'expiresAt',
      endedAt: 'spentAt',
    },
    { label: 'backup codes', table: 'backup_codes', column: 'codeDigest', endedAt: 'usedAt' },
    // Renewed at the next sign-in from the device. Cleanup deletes old ones.
    { label: 'known devices', table: 'known_devices', column: 'clientDigest' },
    // Renewed at the next attempt. Cleanup deletes old ones. The device of a row is under the same key.
    { label: 'failed sign-ins', table: 'login_failures', column: 'subjectDigest' },
  ],
}

function otpContextOf(row: KeyedRow): string {
  return otpContext(textOf(row, 'portal'), textOf(row, 'accountBizId'))
}
