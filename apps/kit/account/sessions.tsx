import { useQuery } from '@tanstack/react-query'
import {
  configureSessions,
  listSessions,
  readSessionConfig,
  type Session,
  terminateAllSessions,
  terminateSession,
} from 'portal-client'
import { refreshData } from '../app.tsx'
import { client } from '../client.ts'
import { Command } from '../command/command.tsx'
import { Form, TextField, type Values } from '../forms.tsx'
import { t } from '../i18n.ts'
import { Table } from '../list.tsx'
import { Section } from '../page.tsx'
import { Badge, QueryView } from '../states.tsx'
import { Age, Time } from '../time.tsx'
import { notify } from '../toasts.tsx'
import { deviceOf } from './device.ts'
import { SubPage } from './sub-page.tsx'

/** Where the account is signed in. */
export default function SessionsPage() {
  const query = useQuery({ queryKey: ['sessions'], queryFn: () => client.call(listSessions) })
  return (
    <SubPage title={t('account.sessions')} actions={<EndOthers />}>
      <QueryView query={query}>
        {(sessions) => (
          <Table
            label={t('account.sessions')}
            items={sessions}
            keyOf={({ sessionId }) => sessionId}
            columns={[
              { title: t('account.device'), cell: ({ userAgent }) => deviceOf(userAgent) },
              { title: t('account.address'), cell: ({ clientIp }) => <code>{clientIp}</code> },
              { title: t('account.signedIn'), cell: ({ loginTime }) => <Time at={loginTime} /> },
              { title: t('account.lastUse'), cell: ({ lastActivityTime }) => <Age at={lastActivityTime} /> },
              { title: t('account.action'), cell: (session) => <End session={session} /> },
            ]}
          />
        )}
      </QueryView>
      <Section title={t('account.limit')}>
        <Limit />
      </Section>
    </SubPage>
  )
}

function End({ session: { sessionId, userAgent, clientIp, isCurrent } }: { session: Session }) {
  if (isCurrent) return <Badge tone="good">{t('account.thisSession')}</Badge>
  const device = deviceOf(userAgent)
  return (
    <Command
      label={t('account.endSession')}
      subject={device}
      done={t('account.sessionEnded')}
      tone="danger"
      run={() => client.call(terminateSession, { body: { sessionId } })}
    >
      <p>{t('account.endSessionOf', { device, address: clientIp })}</p>
    </Command>
  )
}

function EndOthers() {
  return (
    <Command
      label={t('account.endOthers')}
      done={({ terminatedSessions }) => t('account.sessionsEnded', { count: terminatedSessions })}
      tone="danger"
      run={() => client.call(terminateAllSessions)}
    >
      <p>{t('account.endOthersHint')}</p>
    </Command>
  )
}

function Limit() {
  const query = useQuery({ queryKey: ['session-config'], queryFn: () => client.call(readSessionConfig) })
  const save = async (values: Values): Promise<void> => {
    await client.call(configureSessions, { body: { maxConcurrentSessions: Number(values('maxConcurrentSessions')) } })
    notify(t('account.saved'))
    await refreshData()
  }
  return (
    <QueryView query={query}>
      {({ maxSessions }) => (
        <Form key={maxSessions} submit={t('account.save')} onSubmit={save}>
          <TextField
            label={t('account.limitOf')}
            name="maxConcurrentSessions"
            type="number"
            min={1}
            max={100}
            step={1}
            required
            defaultValue={String(maxSessions)}
            hint={t('account.limitHint')}
          />
        </Form>
      )}
    </QueryView>
  )
}
