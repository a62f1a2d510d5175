"""What a new cluster holds from the start, so that nodes can join it as they join one that kubeadm made."""
