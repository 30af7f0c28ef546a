import { createExport } from 'portal-client'
import { useState } from 'react'
import { Link, useLocation } from 'wouter'
import { refreshData } from '../../kit/app.tsx'
import { client } from '../../kit/client.ts'
import { Form, SelectField, type Values } from '../../kit/forms.tsx'
import { t } from '../../kit/i18n.ts'
import { Page } from '../../kit/page.tsx'
import { useSession } from '../../kit/session.tsx'
import { useTimeZone } from '../../kit/time.tsx'
import { notify } from '../../kit/toasts.tsx'
import { useWorkspace } from '../workspace.tsx'
import { Filters } from './filters.tsx'
import { exportRequest } from './request.ts'
import { exportTypes, formats, oneOf, permissionOf } from './types.ts'

/** Exports a list that the user can read, with its filters. */
export default function NewExport() {
  const { workspaceBizId: workspaceId } = useWorkspace().workspace
  const { permissions } = useSession()
  const timeZone = useTimeZone()
  const [, navigate] = useLocation()
  const readable = exportTypes.filter((type) => {
    const permission = permissionOf[type]
    return permission === null || permissions.has(permission)
  })
  const [type, setType] = useState(readable[0] ?? 'LOGIN_HISTORY')
  const create = async (values: Values): Promise<void> => {
    await client.call(createExport, { workspaceId, body: exportRequest(type, values, timeZone) })
    notify(t('exports.wasCreated'))
    await refreshData()
    navigate('/exports')
  }
  return (
    <Page title={t('exports.create')} actions={<Link href="/exports">{t('exports.all')}</Link>}>
      <Form submit={t('exports.create')} onSubmit={create}>
        <SelectField
          label={t('exports.list')}
          name="exportType"
          hint={readable.length < exportTypes.length && t('exports.readableOnly')}
          defaultValue={type}
          options={readable.map((each) => ({ value: each, label: t(`exports.type_${each}`) }))}
          onChange={(value) => setType(oneOf(exportTypes, value) ?? type)}
        />
        <SelectField
          label={t('exports.format')}
          name="format"
          options={formats.map((each) => ({ value: each, label: t(`exports.format_${each}`) }))}
        />
        <Filters key={type} type={type} />
      </Form>
    </Page>
  )
}
