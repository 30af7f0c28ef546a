import { type VerifyAuditLogReply, verifyAuditLog } from 'portal-client'
import { useState } from 'react'
import { client } from '../../kit/client.ts'
import { Facts } from '../../kit/facts.tsx'
import { formatCount } from '../../kit/format.ts'
import { Form, TextField } from '../../kit/forms.tsx'
import { t } from '../../kit/i18n.ts'
import { Section } from '../../kit/page.tsx'
import { Badge } from '../../kit/states.tsx'
import { Time } from '../../kit/time.tsx'

/** Verifies the hash chain, and whether the log still has an entry that somebody noted. */
export function Verification() {
  const [reply, setReply] = useState<VerifyAuditLogReply | null>(null)
  return (
    <Section title={t('audit.verification')}>
      <p className="hint">{t('audit.verificationAbout')}</p>
      <Form
        submit={t('audit.verify')}
        onSubmit={async (values) => {
          const head = values('head')
          setReply(null)
          setReply(await client.call(verifyAuditLog, { query: head === '' ? {} : { head } }))
        }}
      >
        <TextField label={t('audit.notedHead')} name="head" hint={t('audit.notedHeadHint')} autoComplete="off" />
      </Form>
      <div role="status">{reply && <Result reply={reply} />}</div>
    </Section>
  )
}

function Result({ reply }: { reply: VerifyAuditLogReply }) {
  const { intact, entriesChecked, firstBrokenSequence, head, expectedHead, checkedAt } = reply
  return (
    <Facts
      facts={[
        [
          t('audit.result'),
          <Badge key="result" tone={intact ? 'good' : 'bad'}>
            {t(intact ? 'audit.intact' : 'audit.broken')}
          </Badge>,
        ],
        [t('audit.checked'), formatCount(entriesChecked)],
        [t('audit.checkedAt'), <Time key="checkedAt" at={checkedAt} />],
        ...(firstBrokenSequence === null ? [] : [[t('audit.firstBroken'), formatCount(firstBrokenSequence)] as const]),
        ...(expectedHead === null ? [] : [[t('audit.notedHead'), t(`audit.head_${expectedHead}`)] as const]),
        ...(head === null ? [] : [[t('audit.head'), <code key="head">{head}</code>] as const]),
      ]}
    />
  )
}
