"""Pull requests of GitHub and Gitea and merge requests of GitLab, by one protocol."""
