import { replayEvents } from 'portal-client'
import { useState } from 'react'
import { client } from '../../kit/client.ts'
import { Command } from '../../kit/command/command.tsx'
import { formatCount } from '../../kit/format.ts'
import { TextField } from '../../kit/forms.tsx'
import { t } from '../../kit/i18n.ts'
import { instantOf, localTimeOf } from '../../kit/local-time.ts'
import { useTimeZone } from '../../kit/time.tsx'
import { notify } from '../../kit/toasts.tsx'
import { useWorkspace } from '../workspace.tsx'

const dayMs = 86_400_000

/** Sends past events again. One call sends a part of them, so the field then has the time of the next part. */
export function Replay({ webhookId }: { webhookId: string }) {
  const { workspaceBizId: workspaceId } = useWorkspace().workspace
  const timeZone = useTimeZone()
  const [since, setSince] = useState(() => new Date(Date.now() - dayMs))
  const replay = async (time: string): Promise<void> => {
    const body = { webhookBizId: webhookId, since: instantOf(time, timeZone) ?? time }
    const { scheduled, nextSince } = await client.call(replayEvents, { workspaceId, body })
    notify(t('webhooks.replayed', { events: formatCount(scheduled) }))
    if (nextSince !== null) setSince(new Date(nextSince))
  }
  return (
    <Command
      label={t('webhooks.replay')}
      title={t('webhooks.replayTitle')}
      done={t('webhooks.replayDone')}
      run={(values) => replay(values('since'))}
    >
      <p>{t('webhooks.replayEffect')}</p>
      <TextField
        label={t('webhooks.since')}
        name="since"
        type="datetime-local"
        step="1"
        defaultValue={localTimeOf(since, timeZone)}
        hint={t('webhooks.sinceHint')}
        required
      />
    </Command>
  )
}
