import { BaseSequencer, type TestSpecification } from 'vitest/node'
import slowFiles from './slow-files.json' with { type: 'json' }

/**
 * Starts the files that wait longest first. If one of them starts last, a single worker finishes the run. Vitest knows the
 * durations of earlier runs only, and a new clone has none.
 */
export default class SlowestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const isSlow = ({ moduleId }: TestSpecification) => slowFiles.some((file) => moduleId.endsWith(file))
    const byProject = [...Map.groupBy(await super.sort(files), ({ project }) => project.name).values()]
    return byProject.flatMap((each) => [...each.filter(isSlow), ...each.filter((file) => !isSlow(file))])
  }
}
