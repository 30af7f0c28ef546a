import { useQuery } from '@tanstack/react-query'
import { type GenerateBackupCodesReply, generateBackupCodes, readBackupCodeStatus } from 'portal-client'
import { useState } from 'react'
import { client } from '../../client.ts'
import { Command } from '../../command/command.tsx'
import { formatTime } from '../../format.ts'
import { t } from '../../i18n.ts'
import { Section } from '../../page.tsx'
import { QueryView } from '../../states.tsx'
import { useTimeZone } from '../../time.tsx'
import { notify } from '../../toasts.tsx'
import { SubPage } from '../sub-page.tsx'

/** Codes for the day on which the other factors are lost. */
export default function BackupCodesPage() {
  const query = useQuery({ queryKey: ['backup-codes'], queryFn: () => client.call(readBackupCodeStatus) })
  const [generated, setGenerated] = useState<GenerateBackupCodesReply | null>(null)
  return (
    <SubPage title={t('account.backupCodes')}>
      <Section title={t('account.backupCodesState')}>
        <p>{t('account.backupCodesHint')}</p>
        <QueryView query={query}>
          {({ remainingCount, totalGenerated }) => (
            <>
              <p>
                {totalGenerated === 0
                  ? t('account.noBackupCodes')
                  : t('account.codesLeft', { left: remainingCount, total: totalGenerated })}
              </p>
              <div className="form-actions">
                <Command
                  label={t(totalGenerated === 0 ? 'account.generate' : 'account.generateAgain')}
                  tone="primary"
                  run={async () => setGenerated(await client.call(generateBackupCodes))}
                >
                  <p>{t(totalGenerated === 0 ? 'account.generateHint' : 'account.generateAgainHint')}</p>
                </Command>
              </div>
            </>
          )}
        </QueryView>
      </Section>
      {generated && <Codes generated={generated} />}
    </SubPage>
  )
}

function Codes({ generated: { codes, generatedAt } }: { generated: GenerateBackupCodesReply }) {
  const timeZone = useTimeZone()
  const copy = async (): Promise<void> => {
    await navigator.clipboard.writeText(codes.join('\n'))
    notify(t('account.copied'))
  }
  return (
    <Section title={t('account.newCodes', { time: formatTime(generatedAt, timeZone) })}>
      <p className="notice">{t('account.shownOnce')}</p>
      <ul className="account-codes">
        {codes.map((code) => (
          <li key={code}>
            <code>{code}</code>
          </li>
        ))}
      </ul>
      <div className="form-actions account-screen-only">
        <button type="button" onClick={() => void copy()}>
          {t('account.copy')}
        </button>
        <button type="button" onClick={() => print()}>
          {t('account.print')}
        </button>
      </div>
    </Section>
  )
}
