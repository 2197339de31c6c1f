export type AppName = 'batcher' | 'outbox-publisher' | 'analyzer' | 'dlq-admin' | 'worker';

/** How an app is run instead of as its container would. */
export interface Changed {
  /** A built file that is run instead of the app's own main. */
  entry?: string;
  /** A fault of the first life of the first of its processes: `<point>:<nth>:<kill|stop|throw|hang|block>`. */
  fault?: string;
  /** More of its environment. */
  env?: Record<string, string>;
}

export interface MemberPlan extends Changed {
  label: string;
  app: AppName;
}

export type FleetSize = Partial<Record<AppName, number>>;
export type Changes = Partial<Record<AppName, Changed>>;

export const FULL_FLEET: FleetSize = { batcher: 3, 'outbox-publisher': 2, analyzer: 2, 'dlq-admin': 1 };
export const SMALL_FLEET: FleetSize = { batcher: 1, 'outbox-publisher': 1, analyzer: 1, 'dlq-admin': 1 };

/** Processes that hold all roles, as on a laptop. */
export const WORKER_FLEET: FleetSize = { worker: 2, 'dlq-admin': 1 };

export function fleetPlan(size: FleetSize, changes: Changes = {}): MemberPlan[] {
  return (Object.keys(size) as AppName[]).flatMap((app) =>
    Array.from({ length: size[app] ?? 0 }, (_, index) => {
      const { entry, fault, env } = changes[app] ?? {};
      return {
        label: `${app}-${index + 1}`,
        app,
        ...(entry !== undefined && { entry }),
        ...(env !== undefined && { env }),
        ...(fault !== undefined && index === 0 && { fault }),
      };
    }),
  );
}
