import { useQuery } from '@tanstack/react-query'
import {
  listLinkedProviders,
  listMfaMethods,
  listPasskeys,
  listProviders,
  listSessions,
  type MfaMethodEntry,
  readBackupCodeStatus,
  readIpWhitelist,
  readSessionConfig,
} from 'portal-client'
import type { ReactNode } from 'react'
import { Link } from 'wouter'
import { client } from '../client.ts'
import { formatTime } from '../format.ts'
import { t } from '../i18n.ts'
import { Page, Section } from '../page.tsx'
import { readPageSettings } from '../settings.ts'
import { Badge, QueryView } from '../states.tsx'
import { useTimeZone } from '../time.tsx'

/** What protects the account, with links to the pages that change it. */
export default function SecurityPage() {
  return (
    <Page title={t('kit.security')}>
      <Section title={t('account.factors')}>
        <p className="hint">{t('account.factorsHint')}</p>
        <Factors />
      </Section>
      <Section title={t('account.signIns')}>
        <SignIns />
      </Section>
    </Page>
  )
}

function Factors() {
  const query = useQuery({ queryKey: ['factors'], queryFn: () => client.call(listMfaMethods) })
  return (
    <QueryView query={query}>
      {(factors) => (
        <ul className="account-links">
          <Entry href="/security/authenticator" title={t('account.authenticator')}>
            <Enabled factor={factors.find(({ mfaMethod }) => mfaMethod.code === 'OTP')} />
          </Entry>
          <BackupCodes />
          {readPageSettings().passkeys && <Passkeys />}
          <Providers />
          <Entry title={t('account.mail')}>
            <Enabled factor={factors.find(({ mfaMethod }) => mfaMethod.code === 'EMAIL')} />
          </Entry>
        </ul>
      )}
    </QueryView>
  )
}

function BackupCodes() {
  const query = useQuery({ queryKey: ['backup-codes'], queryFn: () => client.call(readBackupCodeStatus) })
  return (
    <Entry href="/security/backup-codes" title={t('account.backupCodes')}>
      <QueryView query={query}>
        {({ remainingCount, totalGenerated }) => (
          <Badge tone={remainingCount > 0 ? 'good' : 'neutral'}>
            {totalGenerated === 0
              ? t('account.off')
              : t('account.codesLeft', { left: remainingCount, total: totalGenerated })}
          </Badge>
        )}
      </QueryView>
    </Entry>
  )
}

function Passkeys() {
  const query = useQuery({ queryKey: ['passkeys'], queryFn: () => client.call(listPasskeys) })
  return (
    <Entry href="/security/passkeys" title={t('account.passkeys')}>
      <QueryView query={query}>{(passkeys) => <Count count={passkeys.length} />}</QueryView>
    </Entry>
  )
}

/** Hidden in a portal without providers. */
function Providers() {
  const offered = useQuery({ queryKey: ['providers'], queryFn: () => client.call(listProviders) })
  const query = useQuery({ queryKey: ['linked-providers'], queryFn: () => client.call(listLinkedProviders) })
  if (offered.data?.length === 0 && query.data?.length === 0) return null
  return (
    <Entry href="/security/providers" title={t('account.providers')}>
      <QueryView query={query}>{(linked) => <Count count={linked.length} />}</QueryView>
    </Entry>
  )
}

function SignIns() {
  const timeZone = useTimeZone()
  const sessions = useQuery({ queryKey: ['sessions'], queryFn: () => client.call(listSessions) })
  const config = useQuery({ queryKey: ['session-config'], queryFn: () => client.call(readSessionConfig) })
  const whitelist = useQuery({ queryKey: ['ip-whitelist'], queryFn: () => client.call(readIpWhitelist) })
  return (
    <ul className="account-links">
      <Entry href="/security/password" title={t('account.password')}>
        <QueryView query={config}>
          {({ passwordChangedAt }) => (
            <span className="muted">
              {passwordChangedAt && t('account.changedAt', { time: formatTime(passwordChangedAt, timeZone) })}
            </span>
          )}
        </QueryView>
      </Entry>
      <Entry href="/security/sessions" title={t('account.sessions')}>
        <QueryView query={sessions}>{(open) => <Count count={open.length} />}</QueryView>
      </Entry>
      <Entry href="/security/history" title={t('account.history')}>
        <QueryView query={config}>
          {({ lastLoginAt, lastLoginIp }) => (
            <span className="muted">
              {lastLoginAt &&
                t('account.lastSignIn', { time: formatTime(lastLoginAt, timeZone), address: lastLoginIp ?? '' })}
            </span>
          )}
        </QueryView>
      </Entry>
      <Entry href="/security/ip-whitelist" title={t('account.whitelist')}>
        <QueryView query={whitelist}>{({ enabled }) => <State isOn={enabled} />}</QueryView>
      </Entry>
    </ul>
  )
}

function Entry({ href, title, children }: { href?: string; title: string; children: ReactNode }) {
  return (
    <li>
      {href === undefined ? <span>{title}</span> : <Link href={href}>{title}</Link>}
      {children}
    </li>
  )
}

function Enabled({ factor }: { factor: MfaMethodEntry | undefined }) {
  return <State isOn={factor?.isEnabled ?? false} />
}

function State({ isOn }: { isOn: boolean }) {
  return <Badge tone={isOn ? 'good' : 'neutral'}>{t(isOn ? 'account.on' : 'account.off')}</Badge>
}

function Count({ count }: { count: number }) {
  return <Badge tone={count > 0 ? 'good' : 'neutral'}>{count}</Badge>
}
