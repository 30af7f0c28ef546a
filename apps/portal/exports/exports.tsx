import { type Export, linkExport, listExports } from 'portal-client'
import { useState } from 'react'
import { Link } from 'wouter'
import { client } from '../../kit/client.ts'
import { ChoiceFilter, Filters, useChoice } from '../../kit/filters.tsx'
import { formatCount } from '../../kit/format.ts'
import { t } from '../../kit/i18n.ts'
import { ListQuery, Table, useEmpty } from '../../kit/list.tsx'
import { Page } from '../../kit/page.tsx'
import { usePermission } from '../../kit/session.tsx'
import { Badge, Failure, type Tone } from '../../kit/states.tsx'
import { Time } from '../../kit/time.tsx'
import { Lacking } from '../permissions/permissions.tsx'
import { useWorkspace } from '../workspace.tsx'
import { exportTypes } from './types.ts'

/** The exports of the workspace. `type` in the address filters them. */
export default function Exports() {
  const { workspaceBizId: workspaceId } = useWorkspace().workspace
  const exportType = useChoice('type', exportTypes)
  return (
    <Page title={t('exports.title')} actions={<NewExport />}>
      <Lacking permission="export:create" />
      <Filters>
        <ChoiceFilter
          name="type"
          label={t('exports.list')}
          options={[
            { value: '', label: t('exports.all') },
            ...exportTypes.map((value) => ({ value, label: t(`exports.type_${value}`) })),
          ]}
        />
      </Filters>
      <ListQuery
        queryKey={['exports', workspaceId, exportType]}
        read={(before) => client.call(listExports, { workspaceId, query: { before, exportType } })}
        empty={useEmpty(t('exports.empty'))}
        isChanging={(exports) => exports.some(isRunning)}
      >
        {(exports) => <List exports={exports} />}
      </ListQuery>
    </Page>
  )
}

function NewExport() {
  if (!usePermission('export:create')) return null
  return (
    <Link href="/exports/new" className="button primary">
      {t('exports.create')}
    </Link>
  )
}

function List({ exports }: { exports: readonly Export[] }) {
  return (
    <Table
      label={t('exports.title')}
      items={exports}
      keyOf={({ bizId }) => bizId}
      columns={[
        {
          title: t('exports.list'),
          cell: ({ exportType, fileName }) => (
            <div className="exports-name">
              {exportType.label}
              <span className="hint">{fileName}</span>
            </div>
          ),
        },
        { title: t('exports.format'), cell: ({ format }) => format.label },
        {
          title: t('exports.status'),
          cell: ({ exportStatus: { code, label }, failureCode }) => (
            <>
              <Badge tone={tones[code]}>{label}</Badge> {failureCode !== null && <code>{failureCode}</code>}
            </>
          ),
        },
        {
          title: t('exports.rows'),
          align: 'end',
          cell: ({ rowCount }) => (rowCount === null ? '–' : formatCount(rowCount)),
        },
        { title: t('exports.created'), cell: ({ createdAt }) => <Time at={createdAt} /> },
        {
          title: t('exports.expires'),
          cell: ({ expiresAt }) => <Time at={expiresAt} />,
        },
        { title: t('exports.file'), cell: (each) => <Download item={each} /> },
      ]}
    />
  )
}

function Download({ item: { bizId, exportStatus, sizeBytes, fileName } }: { item: Export }) {
  const { workspaceBizId: workspaceId } = useWorkspace().workspace
  const [error, setError] = useState<unknown>(null)
  if (exportStatus.code !== 'COMPLETED') return '–'
  const download = async (): Promise<void> => {
    setError(null)
    // The link works once, so it is created for each download.
    const { url } = await client.call(linkExport, { workspaceId, params: { export_id: bizId } })
    location.assign(url)
  }
  return (
    <div className="exports-name">
      <button
        type="button"
        aria-label={`${t('exports.download')}: ${fileName ?? ''}`}
        onClick={() => void download().catch(setError)}
      >
        {t('exports.download')}
      </button>
      {sizeBytes !== null && (
        <span className="hint">{t('exports.size', { size: formatCount(Math.ceil(sizeBytes / 1_000)) })}</span>
      )}
      {error !== null && <Failure error={error} />}
    </div>
  )
}

function isRunning({ exportStatus: { code } }: Export): boolean {
  return code === 'QUEUED' || code === 'RUNNING'
}

const tones: Readonly<Record<Export['exportStatus']['code'], Tone>> = {
  QUEUED: 'waiting',
  RUNNING: 'waiting',
  COMPLETED: 'good',
  FAILED: 'bad',
  EXPIRED: 'neutral',
}
