import { Link, useLocation } from 'wouter'
import { t } from '../../kit/i18n.ts'
import { Page } from '../../kit/page.tsx'
import { useWorkspace } from '../workspace.tsx'
import { CreateWorkspace } from './create-workspace.tsx'

/** Creates another workspace and opens it. */
export default function NewWorkspace() {
  const { choose } = useWorkspace()
  const [, navigate] = useLocation()
  const open = (workspaceId: string): void => {
    choose(workspaceId)
    navigate('/workspace')
  }
  return (
    <Page title={t('workspaces.create')} actions={<Link href="/workspace">{t('workspaces.title')}</Link>}>
      <CreateWorkspace onCreated={open} />
    </Page>
  )
}
