import { type Export, linkExport, listExports } from 'portal-client'
import { useEffect, useState } from 'react'
import { Link, useSearchParams } from 'wouter'
import { refreshData } from '../../kit/app.tsx'
import { client } from '../../kit/client.ts'
import { formatCount } from '../../kit/format.ts'
import { t } from '../../kit/i18n.ts'
import { ListQuery, Table } from '../../kit/list.tsx'
import { Page } from '../../kit/page.tsx'
import { usePermission } from '../../kit/session.tsx'
import { Badge, Failure, type Tone } from '../../kit/states.tsx'
import { Time } from '../../kit/time.tsx'
import { Lacking } from '../permissions/permissions.tsx'
import { useWorkspace } from '../workspace.tsx'
import { exportTypes } from './types.ts'

/** How often the progress is read. */
const progressMs = 2_000

/** The exports of the workspace. `type` in the address filters them. */
export default function Exports() {
  const { workspaceBizId: workspaceId } = useWorkspace().workspace
  const [search, setSearch] = useSearchParams()
  const exportType = exportTypes.find((each) => each === search.get('type'))
  return (
    <Page title={t('exports.title')} actions={<NewExport />}>
      <Lacking permission="export:create" />
      <div className="filters">
        <label>
          <span>{t('exports.list')}</span>
          <select
            value={exportType ?? ''}
            onChange={({ currentTarget: { value } }) => setSearch(value === '' ? {} : { type: value })}
          >
            <option value="">{t('exports.all')}</option>
            {exportTypes.map((type) => (
              <option key={type} value={type}>
                {t(`exports.type_${type}`)}
              </option>
            ))}
          </select>
        </label>
      </div>
      <ListQuery
        queryKey={['exports', workspaceId, exportType]}
        read={(before) => client.call(listExports, { workspaceId, query: { before, exportType } })}
        empty={t('exports.empty')}
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
  const isRunning = exports.some(({ exportStatus: { code } }) => code === 'QUEUED' || code === 'RUNNING')
  useEffect(() => {
    if (!isRunning) return
    const timer = setInterval(() => void refreshData(), progressMs)
    return () => clearInterval(timer)
  }, [isRunning])
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

const tones: Readonly<Record<Export['exportStatus']['code'], Tone>> = {
  QUEUED: 'waiting',
  RUNNING: 'waiting',
  COMPLETED: 'good',
  FAILED: 'bad',
  EXPIRED: 'neutral',
}
