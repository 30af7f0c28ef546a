import { useQuery } from '@tanstack/react-query'
import { type AllWebhook, type Delivery, listWebhookTypes } from 'portal-client'
import { useState } from 'react'
import { client } from '../../kit/client.ts'
import { t } from '../../kit/i18n.ts'
import { Badge, QueryView, type Tone } from '../../kit/states.tsx'
import { useWorkspace } from '../workspace.tsx'

/** All types that the person for whom the webhook acts can read. */
const everyType = '*'

export function WebhookStatus({ status: { code, label } }: { status: AllWebhook['webhookStatus'] }) {
  return <Badge tone={webhookTones[code]}>{label}</Badge>
}

export function DeliveryStatus({ status: { code, label } }: { status: Delivery['deliveryStatus'] }) {
  return <Badge tone={deliveryTones[code]}>{label}</Badge>
}

/** The event types of a webhook. */
export function EventTypes({ types }: { types: readonly string[] }) {
  if (types.includes(everyType)) return t('webhooks.everyType')
  return <code>{types.join(', ')}</code>
}

/** Fields for the event types. Read them with `chosenTypes`. */
export function EventTypeFields({ chosen = [everyType] }: { chosen?: readonly string[] }) {
  const { workspaceBizId: workspaceId } = useWorkspace().workspace
  const [isEvery, setEvery] = useState(chosen.includes(everyType))
  const query = useQuery({
    queryKey: ['webhook-types', workspaceId],
    queryFn: () => client.call(listWebhookTypes, { workspaceId }),
  })
  return (
    <fieldset className="webhooks-types">
      <legend>{t('webhooks.eventTypes')}</legend>
      <label className="check">
        <input
          type="checkbox"
          name="eventTypes"
          value={everyType}
          checked={isEvery}
          onChange={() => setEvery(!isEvery)}
        />
        <span>{t('webhooks.everyType')}</span>
      </label>
      {!isEvery && (
        <QueryView query={query}>
          {(types) => (
            <ul className="webhooks-type-list">
              {types.map((type) => (
                <li key={type}>
                  <label className="check">
                    <input type="checkbox" name="eventTypes" value={type} defaultChecked={chosen.includes(type)} />
                    <code>{type}</code>
                  </label>
                </li>
              ))}
            </ul>
          )}
        </QueryView>
      )}
    </fieldset>
  )
}

export function chosenTypes(form: HTMLFormElement): string[] {
  return new FormData(form).getAll('eventTypes').filter((type) => typeof type === 'string')
}

const webhookTones: Readonly<Record<AllWebhook['webhookStatus']['code'], Tone>> = {
  ACTIVE: 'good',
  DISABLED: 'waiting',
  FAILED: 'bad',
  SUSPENDED: 'bad',
  DELETED: 'neutral',
}

const deliveryTones: Readonly<Record<Delivery['deliveryStatus']['code'], Tone>> = {
  PENDING: 'waiting',
  DELIVERED: 'good',
  FAILED: 'bad',
  WITHHELD: 'neutral',
}
