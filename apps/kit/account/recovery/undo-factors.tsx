import { type UndoFactorsReply, undoFactors } from 'portal-client'
import { useState } from 'react'
import { Link } from 'wouter'
import { client } from '../../client.ts'
import { Form } from '../../forms.tsx'
import { t } from '../../i18n.ts'
import { linkToken } from './link-token.ts'
import { VisitorPage, WithoutToken } from './visitor-page.tsx'

/** For the owner of an account to which a thief has added a factor. */
export default function UndoFactorsPage() {
  const [done, setDone] = useState<UndoFactorsReply | null>(null)
  return (
    <VisitorPage title={t('recovery.undo')}>
      {done ? (
        <Done done={done} />
      ) : linkToken === null ? (
        <WithoutToken />
      ) : (
        <UndoForm token={linkToken} onDone={setDone} />
      )}
    </VisitorPage>
  )
}

/** Mail programs open links to scan them, so the user must press a button. */
function UndoForm({ token, onDone }: { token: string; onDone(done: UndoFactorsReply): void }) {
  return (
    <>
      <p>{t('recovery.undoHint')}</p>
      <Form
        submit={t('recovery.undoSubmit')}
        tone="danger"
        onSubmit={async () => onDone(await client.call(undoFactors, { body: { token } }))}
      />
    </>
  )
}

function Done({ done: { removedFactors, terminatedSessions, suspendedCredentials } }: { done: UndoFactorsReply }) {
  const suspended = Object.values(suspendedCredentials).reduce((sum, count) => sum + count, 0)
  return (
    <div className="notice" role="status">
      <p>
        {removedFactors.length === 0
          ? t('recovery.nothingRemoved')
          : t('recovery.removed', { factors: removedFactors.map(({ label }) => label).join(', ') })}
      </p>
      <p>{t('recovery.ended', { count: terminatedSessions })}</p>
      {suspended > 0 && <p>{t('account.suspended', { count: suspended })}</p>}
      <p>{t('recovery.nextPassword')}</p>
      <Link href="/forgot-password" className="button primary">
        {t('recovery.reset')}
      </Link>
    </div>
  )
}
